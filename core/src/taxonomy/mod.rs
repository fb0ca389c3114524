//! The tree of concepts, and the computation of probabilities along it.
//!
//! It is not strictly a tree: as in WordNet a concept may have several parents, so it is a directed
//! acyclic graph with one root.
//!
//! - [`Taxonomy`]: nodes with their ancestors, depths and the labels below them; read from several
//!   text formats, written as TSV.
//! - [`roll_up`], [`descend`]: from probabilities of the labelled concepts to probabilities of all
//!   concepts, and from these to the path of a photo.
//! - [`attach`]: positions of concepts that the taxonomy lacks, such as other nouns of WordNet.
//! - [`Lexicon`]: nouns that name no node, and the nodes they belong to.
//! - [`metrics`]: severity of a wrong prediction, measured in the tree (notation 6.3).

mod attach;
mod csv;
mod edges;
mod forms;
mod graph;
mod indented;
mod lexicon;
mod lineages;
pub mod metrics;
mod nameable;
mod named;
mod nested;
mod newick;
mod nexus;
mod node;
mod parse;
mod ranks;
mod rollup;
mod sniff;
mod taxa;
mod tree;

pub use attach::{Attachment, Hypernyms, attach};
pub use lexicon::Lexicon;
pub use metrics::{HierarchyScores, mean, score};
pub use nameable::is_synset;
pub use named::by_head;
pub use node::{Node, NodeIx};
pub use ranks::RANKS;
pub use rollup::{TaxonomyPath, descend, roll_up};
pub use tree::Taxonomy;

/// Reads the tree of a test: rows `id = names < hypernyms` with `;` between them. A `*` before an id
/// makes its node a label.
#[cfg(test)]
pub(crate) fn tree_of(rows: &str) -> Taxonomy {
    let row = |row: &str| {
        let (id, names) = row.split_once('=').unwrap();
        let (names, hypernyms) = names.split_once('<').unwrap_or((names, ""));
        let id = id.trim();
        let (id, labelled) = id.strip_prefix('*').map_or((id, 0), |id| (id, 1));
        format!("{id}\t{names}\t{hypernyms}\t{labelled}\n")
    };
    let rows: String = rows.split(';').map(row).collect();
    Taxonomy::from_tsv(&format!("synset\tnames\thypernyms\tlabelled\n{rows}")).unwrap()
}
