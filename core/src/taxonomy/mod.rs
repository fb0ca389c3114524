//! The tree of concepts, and how scores climb and descend it.
//!
//! Not quite a tree: as in WordNet a concept may have several parents, so it is a directed acyclic
//! graph with one root.
//!
//! - [`Taxonomy`]: read from and written to a TSV, ancestors, depths, what is labelled below.
//! - [`roll_up`], [`descend`]: probabilities of the labelled concepts to every concept, and from
//!   there to the path that a photo takes.
//! - [`attach`]: where concepts that the taxonomy lacks, such as other nouns of WordNet, belong in it.
//! - [`Lexicon`]: nouns that name no node, and where they belong.
//! - [`metrics`]: how wrong a prediction is, measured in the tree (notation 6.3).

mod attach;
mod csv;
mod edges;
mod forms;
mod indented;
mod lexicon;
mod lineages;
pub mod metrics;
mod nameable;
mod named;
mod newick;
mod node;
mod parse;
mod ranks;
mod rollup;
mod tree;

pub use attach::{Attachment, Hypernyms, attach};
pub use lexicon::Lexicon;
pub use metrics::{HierarchyScores, mean, score};
pub use named::by_head;
pub use node::{Node, NodeIx};
pub use ranks::RANKS;
pub use rollup::{Descent, descend, roll_up};
pub use tree::Taxonomy;
