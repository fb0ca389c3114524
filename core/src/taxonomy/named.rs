//! From typed words to the node of that very name.

use super::{NodeIx, Taxonomy};

const ARTICLES: [&str; 3] = ["a ", "an ", "the "];

impl Taxonomy {
    /// The node that a phrase names, articles and case aside, or whose id it is. The name that a node is
    /// shown by goes before other names; of several such nodes the first in the file is taken.
    #[must_use]
    pub fn named(&self, phrase: &str) -> Option<NodeIx> {
        let wanted = bare(phrase);
        let is_wanted = |name: &String| bare(name) == wanted;
        let nodes = || (0..).map(NodeIx).zip(self.nodes());
        let shown = || nodes().find(|(_, node)| node.names.first().is_some_and(is_wanted));
        let other = || nodes().find(|(_, node)| node.names.iter().any(is_wanted));
        self.find(phrase)
            .or_else(|| shown().or_else(other).map(|(ix, _)| ix))
    }
}

/// A name in lower case, without an article before it.
fn bare(text: &str) -> String {
    let lower = text.trim().to_lowercase();
    let rest = ARTICLES
        .iter()
        .find_map(|article| lower.strip_prefix(article));
    rest.map(str::to_owned).unwrap_or(lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_names_go_before_synonyms() {
        let tree = "synset\tnames\thypernyms\tlabelled\nr\tthing\t\t0\n\
                    m\tconstruction crane|crane\tr\t1\nb\tcrane|wader\tr\t1\n";
        let taxonomy = Taxonomy::from_tsv(tree).unwrap_or_else(|e| panic!("{e}"));
        let named = |phrase| {
            taxonomy
                .named(phrase)
                .map(|ix| taxonomy.node(ix).id.as_str())
        };
        assert_eq!(named("A Crane "), Some("b"));
        assert_eq!(named("the wader"), Some("b"));
        assert_eq!(named("construction crane"), Some("m"));
        assert_eq!(named("r"), Some("r"));
        assert_eq!(named("cranes"), None);
    }
}
