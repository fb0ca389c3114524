//! A concept of a taxonomy.

use serde::{Deserialize, Serialize};

/// Index of a node in [`super::Taxonomy::nodes`]; valid only for the taxonomy it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeIx(pub u32);

impl NodeIx {
    /// Returns the index as a `usize`, for slices with one entry per node.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A concept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Identifier, such as the WordNet synset `n02121620`; unique, never empty.
    pub id: String,
    /// Names, the most usual one first; at least one, none empty.
    pub names: Vec<String>,
    /// Direct hypernyms; empty only for the root.
    pub parents: Vec<NodeIx>,
    /// Whether data is labelled with this concept, so that a model scores it. This can also be an
    /// inner node.
    pub labelled: bool,
    /// How well its branch is supported, as the file of a phylogeny states it: `98`, `0.98` or `98.5/100`. Not a
    /// name, and not written to a bundle.
    pub support: Option<String>,
}
