//! The taxonomy of the classes: each as a label, and the nodes above it.

use std::collections::{BTreeMap, BTreeSet};

use espalier_core::taxonomy::{NodeIx, Taxonomy};

use super::classes::name_of;
use super::places::{ClassPlace, FoundBy};

/// Header of a taxonomy file.
const HEADER: &str = "synset\tnames\thypernyms\tlabelled\n";

/// Returns the taxonomy of classes with their places in a tree, as TSV. The id of a class is its label;
/// other nodes keep their ids. Paths follow first hypernyms.
pub fn to_tsv(tree: &Taxonomy, classes: &[(&str, ClassPlace)]) -> String {
    // The class that takes the place of each node; of several, the first.
    let mut taken: BTreeMap<NodeIx, &str> = BTreeMap::new();
    for (label, place) in classes.iter().filter(|(_, place)| place.is_node()) {
        taken.entry(place.node).or_insert(label);
    }
    let id = |ix: NodeIx| match taken.get(&ix) {
        Some(label) => (*label).to_owned(),
        None => tree.node(ix).id.clone(),
    };
    let above = |ix: NodeIx| tree.node(ix).parents.first().copied();
    let mut inner: BTreeSet<NodeIx> = BTreeSet::from([tree.root()]);
    let mut labels = String::new();
    for (label, place) in classes {
        let is_first = place.is_node() && taken.get(&place.node) == Some(label);
        // A second class with the same node lies beside the first.
        let parent = match place.is_node() {
            true => above(place.node),
            false => Some(place.node),
        };
        let node = tree.node(place.node);
        let mut names: Vec<String> = match place.found {
            FoundBy::Id => node.names.clone(),
            _ => vec![name_of(label)],
        };
        if is_first {
            let known: BTreeSet<String> = names.iter().map(|n| n.to_lowercase()).collect();
            let others = node.names.iter().cloned();
            names.extend(others.filter(|n| !known.contains(&n.to_lowercase())));
        }
        inner.extend(parent.iter().flat_map(|ix| tree.path_to(*ix)));
        let parent = parent.map(id).unwrap_or_default();
        labels.push_str(&format!("{label}\t{}\t{parent}\t1\n", names.join("|")));
    }
    let mut out = HEADER.to_owned();
    for ix in inner.into_iter().filter(|ix| !taken.contains_key(ix)) {
        let node = tree.node(ix);
        let parent = above(ix).map(id).unwrap_or_default();
        let names = node.names.join("|");
        out.push_str(&format!("{}\t{names}\t{parent}\t0\n", node.id));
    }
    out + &labels
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "synset\tnames\thypernyms\tlabelled\n\
        r\tentity\t\t0\n\
        a\tanimal\tr\t0\n\
        d\tdog|domestic dog\ta\t1\n\
        p\tpoodle\td\t1\n\
        m\tmachine\tr\t0\n";

    #[test]
    fn classes_take_the_places_of_nodes_and_lie_below_each_other() {
        let tree = Taxonomy::from_tsv(TREE).unwrap();
        let place = |id: &str, found| ClassPlace {
            node: tree.find(id).unwrap(),
            found,
        };
        let classes = [
            ("Dogs", place("d", FoundBy::Name)),
            ("hounds", place("d", FoundBy::Name)),
            ("poodle", place("p", FoundBy::Name)),
            ("my_Bella", place("d", FoundBy::Photos)),
            ("thing 7", place("r", FoundBy::Nowhere)),
        ];
        let taxonomy = Taxonomy::from_tsv(&to_tsv(&tree, &classes)).unwrap();
        let path = |id: &str| {
            let path = taxonomy.path_to(taxonomy.find(id).unwrap());
            let names = path.into_iter().map(|ix| taxonomy.name(ix).to_owned());
            names.collect::<Vec<_>>().join(" > ")
        };
        assert_eq!(path("poodle"), "entity > animal > Dogs > poodle");
        assert_eq!(path("my_Bella"), "entity > animal > Dogs > my Bella");
        assert_eq!(path("hounds"), "entity > animal > hounds");
        assert_eq!(path("thing 7"), "entity > thing 7");
        let dogs = taxonomy.node(taxonomy.find("Dogs").unwrap());
        assert_eq!(dogs.names, ["Dogs", "dog", "domestic dog"]);
        assert!(taxonomy.find("m").is_none());
        assert_eq!(taxonomy.labelled().len(), 5);
    }
}
