//! The place of each class in a tree of concepts.

use espalier_core::taxonomy::{NodeIx, by_head};
use espalier_core::words::singulars;

use super::classes::name_of;
use super::reference::Reference;

/// Smallest mean probability at which the photos of a class may place it below a node.
const SHOWN: f32 = 0.6;

/// Mean probability of a whole branch below which a name of a node in it is taken for a word with
/// another meaning: a folder of mice is not below the computer mouse.
const RULED_OUT: f32 = 0.1;

/// How the place of a class was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundBy {
    /// The folder has the id of a node.
    Id,
    /// The folder has the name of a node.
    Name,
    /// The folder has the name of one of several nodes; its photos show this one.
    Sense,
    /// The name is a noun of WordNet that belongs below the node.
    Noun,
    /// The last word of the name names the node, or a noun below it.
    Head,
    /// The name is unknown, or means something else; the photos show this.
    Photos,
    /// Neither the name nor the photos say anything: the class lies below the root.
    Nowhere,
}

/// Place of a class in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassPlace {
    /// The node that the class is, or that it lies below.
    pub node: NodeIx,
    /// How it was found.
    pub found: FoundBy,
}

impl ClassPlace {
    /// Returns whether the class is the node, and does not lie below it.
    pub fn is_node(&self) -> bool {
        matches!(self.found, FoundBy::Id | FoundBy::Name | FoundBy::Sense)
    }
}

impl Reference {
    /// Returns the nodes with a name, in the singular or the plural; those whose first name it is
    /// come first, and labels before other nodes.
    fn senses(&self, name: &str) -> Vec<NodeIx> {
        let lower = name.to_lowercase();
        let forms = std::iter::once(lower.clone()).chain(singulars(&lower));
        for form in forms {
            let nodes = (0..).map(NodeIx).zip(self.taxonomy.nodes());
            let named =
                nodes.filter(|(_, node)| node.names.iter().any(|n| n.to_lowercase() == form));
            let mut senses: Vec<NodeIx> = named.map(|(ix, _)| ix).collect();
            senses.sort_by_key(|ix| {
                let node = self.taxonomy.node(*ix);
                let is_first = node.names.first().is_some_and(|n| n.to_lowercase() == form);
                (!is_first, !node.labelled)
            });
            if !senses.is_empty() {
                return senses;
            }
        }
        Vec::new()
    }

    /// Returns the node that a noun belongs below.
    fn noun(&self, name: &str) -> Option<NodeIx> {
        let lower = name.to_lowercase();
        let mut forms = std::iter::once(lower.clone()).chain(singulars(&lower));
        forms.find_map(|form| self.lexicon.find(&self.taxonomy, &form))
    }

    /// Returns the node that photos show: the deepest one that is probable enough and that a person
    /// would name.
    fn shown(&self, opinion: &[f32]) -> Option<NodeIx> {
        let nodes = (0..).map(NodeIx).zip(opinion);
        let probable = nodes.filter(|(_, p)| **p >= SHOWN).map(|(ix, _)| ix);
        let named = probable.filter(|ix| self.taxonomy.is_nameable(*ix));
        named.max_by_key(|ix| self.taxonomy.depth(*ix))
    }

    /// Returns whether photos show something of another branch than that of a node: an animal, for
    /// example, and no man-made object.
    fn is_ruled_out(&self, node: NodeIx, opinion: &[f32]) -> bool {
        let path = self.taxonomy.path_to(node);
        let branch = path.iter().find(|ix| self.taxonomy.is_informative(**ix));
        let p = branch.and_then(|ix| opinion.get(ix.index()));
        let shown = self.shown(opinion);
        let is_elsewhere = shown.is_some_and(|shown| !path.contains(&shown));
        is_elsewhere && p.is_some_and(|p| *p < RULED_OUT)
    }

    /// Returns the place that the name of a class gives it.
    fn by_name(&self, label: &str, opinion: &[f32]) -> Option<ClassPlace> {
        let place = |node, found| ClassPlace { node, found };
        if let Some(node) = self.taxonomy.find(label) {
            return Some(place(node, FoundBy::Id));
        }
        let name = name_of(label);
        let senses = self.senses(&name);
        let p = |ix: &NodeIx| opinion.get(ix.index()).copied().unwrap_or(0.0);
        if let Some(first) = senses.first() {
            // Of equally probable senses, the first.
            let best = senses.iter().rev().max_by(|a, b| p(a).total_cmp(&p(b)));
            let found = if senses.len() > 1 && !opinion.is_empty() {
                FoundBy::Sense
            } else {
                FoundBy::Name
            };
            return Some(place(*best.unwrap_or(first), found));
        }
        if let Some(node) = self.noun(&name) {
            return Some(place(node, FoundBy::Noun));
        }
        let known = |word: &str| {
            let sense = self.senses(word).first().copied();
            sense.or_else(|| self.noun(word))
        };
        by_head(&name, &known).map(|node| place(node, FoundBy::Head))
    }

    /// Returns the place of a class. `opinion` is the mean probability of every node over its photos;
    /// empty if it is not known.
    pub fn place(&self, label: &str, opinion: &[f32]) -> ClassPlace {
        let named = self.by_name(label, opinion);
        let is_certain = |place: &ClassPlace| {
            place.found == FoundBy::Id || !self.is_ruled_out(place.node, opinion)
        };
        if let Some(place) = named.filter(is_certain) {
            return place;
        }
        let (node, found) = match self.shown(opinion) {
            Some(node) => (node, FoundBy::Photos),
            None => (self.taxonomy.root(), FoundBy::Nowhere),
        };
        ClassPlace { node, found }
    }
}

#[cfg(test)]
mod tests {
    use espalier_core::taxonomy::{Lexicon, Taxonomy};

    use super::*;

    const TREE: &str = "synset\tnames\thypernyms\tlabelled\n\
        r\tentity\t\t0\n\
        a\tanimal\tr\t0\n\
        b\tcrane\ta\t1\n\
        d\tdog\ta\t1\n\
        c\tcat\ta\t1\n\
        m\tmachine\tr\t0\n\
        k\tconstruction crane|crane\tm\t1\n\
        u\tcomputer mouse|mouse\tm\t1\n";

    /// Places a class; the opinion is given by ids.
    fn place(label: &str, opinion: &[(&str, f32)]) -> (String, bool, FoundBy) {
        let nouns = Lexicon::new([("pug".to_owned(), "d".to_owned())]);
        let reference = Reference::of_tree(Taxonomy::from_tsv(TREE).unwrap(), nouns);
        let tree = &reference.taxonomy;
        let mut p: Vec<f32> = Vec::new();
        for (id, value) in opinion {
            p.resize(tree.nodes().len(), 0.0);
            p[tree.find(id).unwrap().index()] = *value;
        }
        let place = reference.place(label, &p);
        let id = tree.node(place.node).id.clone();
        (id, place.is_node(), place.found)
    }

    #[test]
    fn a_name_an_id_a_noun_and_the_head_of_a_name_are_found() {
        let is = |node: &str, is_node, found| (node.to_owned(), is_node, found);
        assert_eq!(place("Dogs", &[]), is("d", true, FoundBy::Name));
        assert_eq!(place("d", &[]), is("d", true, FoundBy::Id));
        assert_eq!(place("pug", &[]), is("d", false, FoundBy::Noun));
        assert_eq!(place("grey_cat", &[]), is("c", false, FoundBy::Head));
        assert_eq!(place("xyz", &[]), is("r", false, FoundBy::Nowhere));
    }

    #[test]
    fn photos_choose_among_senses_and_place_unknown_names() {
        let machines = [("r", 1.0), ("m", 0.9), ("k", 0.8), ("a", 0.1), ("b", 0.05)];
        assert_eq!(place("crane", &[]).0, "b");
        assert_eq!(
            place("crane", &machines),
            ("k".into(), true, FoundBy::Sense)
        );
        let animals = [
            ("r", 1.0),
            ("a", 0.98),
            ("d", 0.9),
            ("m", 0.02),
            ("u", 0.01),
        ];
        assert_eq!(
            place("Bella", &animals),
            ("d".into(), false, FoundBy::Photos)
        );
        assert_eq!(place("mouse", &animals).0, "d", "not the computer mouse");
    }
}
