//! Selection of the concepts that a person would name to describe a photo.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::{Node, NodeIx, Taxonomy};

/// Largest fraction of all labels that may lie at or below an informative node.
const TELLING: f64 = 0.6;

/// First names of WordNet 3.0 nodes that people do not use, one per line: a bottle is a container,
/// but only WordNet also calls it an instrumentality. Such nodes stay in the tree.
///
/// If a taxonomy gives the same node a common first name, the node is nameable.
static JARGON: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("jargon.txt").lines().collect());

impl Taxonomy {
    /// Returns whether a node is informative: it has labels at or below it, but not nearly all of
    /// them, as `entity` and `whole` have.
    pub fn is_informative(&self, ix: NodeIx) -> bool {
        let (below, all) = (self.labelled_below(ix).len(), self.labelled().len());
        below > 0 && (below as f64 <= TELLING * all as f64 || all == 1)
    }

    /// Returns whether a person would name a node to describe a photo: the node is
    /// [informative](Self::is_informative), and its first name is not WordNet's jargon. Labels are never
    /// treated as jargon.
    pub fn is_nameable(&self, ix: NodeIx) -> bool {
        self.is_informative(ix)
            && !self
                .nodes()
                .get(ix.index())
                .is_some_and(|node| !node.labelled && is_jargon(node))
    }

    /// Returns the nearest nameable node at or above a node, along first parents; the node itself
    /// if there is none.
    pub fn nameable_above(&self, ix: NodeIx) -> NodeIx {
        let mut up = self.path_to(ix).into_iter().rev();
        up.find(|above| self.is_nameable(*above)).unwrap_or(ix)
    }
}

/// Returns whether a node of WordNet has a first name in [`JARGON`]. Other trees, such as a
/// biologist's with the same words, are not affected.
fn is_jargon(node: &Node) -> bool {
    let name = node.names.first().map_or("", String::as_str);
    is_synset(&node.id) && JARGON.contains(name)
}

/// Returns whether an id has the form of WordNet's nouns, such as `n02121620`.
#[must_use]
pub fn is_synset(id: &str) -> bool {
    let digits = id.strip_prefix('n').unwrap_or_default();
    digits.len() == 8 && digits.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::super::tree_of;
    use super::*;

    const TREE: &str = "r = all; a = artifact < r; n03575240 = instrumentality < a; \
        *t = table < n03575240; *b = bird < r";

    fn nameable_above(tree: &str) -> String {
        let taxonomy = tree_of(tree);
        let above = |id: &str| {
            let node = taxonomy.nameable_above(taxonomy.find(id).unwrap());
            taxonomy.node(node).id.clone()
        };
        ["t", "n03575240", "a", "r"].map(above).join(" ")
    }

    #[test]
    fn a_node_without_labels_below_it_says_nothing() {
        let taxonomy = tree_of(&format!("{TREE}; x = void < r"));
        let is_informative = |id: &str| taxonomy.is_informative(taxonomy.find(id).unwrap());
        assert!(is_informative("t") && !is_informative("x") && !is_informative("r"));
    }

    #[test]
    fn the_nearest_nameable_node_is_found_upwards() {
        assert_eq!(nameable_above(TREE), "t a a r");
        // A plain first name.
        let plain = TREE.replace("instrumentality", "tool or device|instrumentality");
        assert_eq!(nameable_above(&plain), "t n03575240 a r");
        // The jargon of another tree than WordNet.
        let own = TREE.replace("artifact", "placental");
        assert_eq!(nameable_above(&own), "t a a r");
    }

    #[test]
    fn a_label_is_always_nameable() {
        let taxonomy = tree_of("r = all; *n07579787 = plate < r; *b = bird < r");
        assert!(JARGON.contains("plate"));
        assert!(taxonomy.is_nameable(taxonomy.find("n07579787").unwrap()));
    }

    #[test]
    fn the_list_is_sorted_and_without_blank_lines() {
        let words: Vec<&str> = include_str!("jargon.txt").lines().collect();
        assert!(words.is_sorted() && !words.contains(&""));
        assert_eq!(words.len(), JARGON.len());
        assert!(!JARGON.contains("animal"));
    }
}
