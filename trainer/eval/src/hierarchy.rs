//! Distance of wrong answers from the truth in the taxonomy (notation 6.3).

use std::collections::BTreeMap;

use clap::ValueEnum;
use espalier_core::taxonomy::{NodeIx, Taxonomy, metrics};

/// Path whose edges the tree-induced error counts; both are the same in a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TiePath {
    /// The shortest path, up and down in any order (notation 6.3).
    #[default]
    Shortest,
    /// From both nodes up to a common ancestor.
    Ancestor,
}

/// Returns the mean tree scores of the top-1 answers.
#[must_use]
pub fn scores(
    taxonomy: &Taxonomy,
    (predicted, truth): (&[NodeIx], &[NodeIx]),
    path: TiePath,
) -> BTreeMap<String, f64> {
    let each: Vec<_> = predicted
        .iter()
        .zip(truth)
        .map(|(p, t)| metrics::score(taxonomy, *p, *t))
        .collect();
    let Some(mean) = metrics::mean(&each) else {
        return BTreeMap::new();
    };
    BTreeMap::from([
        (
            "tie".to_owned(),
            match path {
                TiePath::Shortest => mean.tie,
                TiePath::Ancestor => mean.tie_ancestor,
            },
        ),
        ("lca".to_owned(), mean.lca),
        ("lca_max".to_owned(), mean.lca_max),
        ("jaccard".to_owned(), mean.jaccard),
        (
            "hierarchical_precision".to_owned(),
            mean.hierarchical_precision,
        ),
        ("hierarchical_recall".to_owned(), mean.hierarchical_recall),
    ])
}
