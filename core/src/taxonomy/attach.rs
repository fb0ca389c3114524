//! Positions of concepts that a taxonomy lacks: the deepest of its nodes above each of them.
//!
//! A taxonomy is a part of a larger hierarchy, such as all nouns of WordNet. Each concept of the
//! larger hierarchy has ancestors in the taxonomy; the deepest of them describe it best.

use std::collections::{BTreeMap, VecDeque};

use super::{NodeIx, Taxonomy};

/// A hierarchy of concepts, numbered from 0, that contains the taxonomy.
pub trait Hypernyms {
    /// Returns the id of a concept, in the same form as [`Node::id`](super::Node::id).
    fn id(&self, concept: usize) -> &str;

    /// Returns the direct hypernyms of a concept; empty for a root.
    fn above(&self, concept: usize) -> &[usize];
}

/// A node at or above a concept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// The node.
    pub node: NodeIx,
    /// The concepts on a shortest path up to the node: the concept itself first, the concept of the
    /// node last.
    pub path: Vec<usize>,
}

impl Attachment {
    /// Returns the number of edges from the concept up to the node; 0 if the concept is the node.
    #[must_use]
    pub fn distance(&self) -> usize {
        self.path.len().saturating_sub(1)
    }
}

/// Returns the deepest nodes at or above a concept, along all its hypernyms; no node of the result
/// is an ancestor of another. The nearest come first, and equally near ones have the order of the
/// taxonomy.
///
/// A concept that is itself a node has only that node. The result is empty only if no path upward
/// reaches the taxonomy.
#[must_use]
pub fn attach(taxonomy: &Taxonomy, hierarchy: &impl Hypernyms, concept: usize) -> Vec<Attachment> {
    // Breadth-first search: the first path found to a concept is a shortest one.
    let mut came_from: BTreeMap<usize, Option<usize>> = BTreeMap::from([(concept, None)]);
    let mut queue = VecDeque::from([concept]);
    let mut met: Vec<(NodeIx, usize)> = Vec::new();
    while let Some(at) = queue.pop_front() {
        if let Some(node) = taxonomy.find(hierarchy.id(at)) {
            met.push((node, at));
            continue;
        }
        for &above in hierarchy.above(at) {
            came_from.entry(above).or_insert_with(|| {
                queue.push_back(above);
                Some(at)
            });
        }
    }
    let is_deepest = |node: NodeIx| {
        !met.iter()
            .any(|(other, _)| taxonomy.is_ancestor(node, *other))
    };
    let path_to = |end: usize| {
        let step = |at: &usize| came_from.get(at).copied().flatten();
        let mut path: Vec<usize> = std::iter::successors(Some(end), step).collect();
        path.reverse();
        path
    };
    let mut found: Vec<Attachment> = met
        .iter()
        .filter(|(node, _)| is_deepest(*node))
        .map(|&(node, end)| Attachment {
            node,
            path: path_to(end),
        })
        .collect();
    found.sort_by_key(|a| (a.distance(), a.node));
    found
}

#[cfg(test)]
mod tests {
    use super::super::tree_of;
    use super::*;

    const TREE: &str = "e = entity; a = animal < e; *d = dog < a; p = pet < e; *t = table < e";

    struct Rows(Vec<(&'static str, Vec<usize>)>);

    impl Hypernyms for Rows {
        fn id(&self, concept: usize) -> &str {
            self.0[concept].0
        }

        fn above(&self, concept: usize) -> &[usize] {
            &self.0[concept].1
        }
    }

    /// Returns the positions of a concept as (node, distance).
    fn places(rows: &Rows, id: &str) -> Vec<(String, usize)> {
        let taxonomy = tree_of(TREE);
        let concept = rows.0.iter().position(|row| row.0 == id).unwrap();
        let found = attach(&taxonomy, rows, concept);
        let named = |a: &Attachment| (taxonomy.node(a.node).id.clone(), a.distance());
        found.iter().map(named).collect()
    }

    fn rows() -> Rows {
        Rows(vec![
            ("e", vec![]),
            ("a", vec![0]),
            ("d", vec![1]),
            ("p", vec![0]),
            // A puppy is a young dog, a lap dog is a dog and a pet.
            ("young", vec![2]),
            ("puppy", vec![4]),
            ("lap dog", vec![2, 3]),
            // A mascot is a pet and also directly an entity; a stray is an animal and a dog.
            ("mascot", vec![3, 0]),
            ("stray", vec![1, 2]),
            ("loose", vec![]),
            ("round", vec![11]),
            ("about", vec![10]),
        ])
    }

    #[test]
    fn a_node_is_its_own_place() {
        assert_eq!(places(&rows(), "d"), [("d".to_owned(), 0)]);
        assert_eq!(places(&rows(), "e"), [("e".to_owned(), 0)]);
    }

    #[test]
    fn a_concept_is_placed_below_its_nearest_node() {
        let rows = rows();
        assert_eq!(places(&rows, "puppy"), [("d".to_owned(), 2)]);
        let taxonomy = tree_of(TREE);
        // puppy, young dog, dog
        assert_eq!(attach(&taxonomy, &rows, 5)[0].path, [5, 4, 2]);
    }

    #[test]
    fn several_nodes_are_found_and_those_above_others_are_left_out() {
        let rows = rows();
        assert_eq!(
            places(&rows, "lap dog"),
            [("d".to_owned(), 1), ("p".to_owned(), 1)]
        );
        assert_eq!(places(&rows, "mascot"), [("p".to_owned(), 1)]);
        assert_eq!(places(&rows, "stray"), [("d".to_owned(), 1)]);
    }

    #[test]
    fn what_never_meets_the_taxonomy_has_no_place() {
        assert!(places(&rows(), "loose").is_empty());
        assert!(places(&rows(), "round").is_empty());
    }
}
