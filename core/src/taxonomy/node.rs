//! One concept of a taxonomy.

use serde::{Deserialize, Serialize};

/// Place of a node in [`super::Taxonomy::nodes`]; means something for the taxonomy it came from only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeIx(pub u32);

impl NodeIx {
    /// The place as an index into a slice with one entry for each node.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A concept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Identifier, such as the WordNet synset `n02121620`; unique, never empty.
    pub id: String,
    /// Names, the usual one first; at least one, none empty.
    pub names: Vec<String>,
    /// More general concepts; empty for the root only.
    pub parents: Vec<NodeIx>,
    /// Whether data is labelled with this concept, so that a model scores it. An inner node can be.
    pub labelled: bool,
}
