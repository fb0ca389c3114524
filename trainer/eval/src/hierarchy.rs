//! Distance of wrong answers from the truth in the taxonomy (notation 6.3).

use std::collections::BTreeMap;

use clap::ValueEnum;
use espalier_core::taxonomy::{NodeIx, Taxonomy, metrics};

use super::metrics::named;

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
pub fn scores(
    taxonomy: &Taxonomy,
    (predicted, truth): (&[NodeIx], &[NodeIx]),
    path: TiePath,
) -> BTreeMap<String, f64> {
    let each = predicted.iter().zip(truth);
    let each = each.map(|(p, t)| metrics::score(taxonomy, *p, *t));
    let Some(mean) = metrics::mean(&each.collect::<Vec<_>>()) else {
        return BTreeMap::new();
    };
    named([
        (
            "tie",
            match path {
                TiePath::Shortest => mean.tie,
                TiePath::Ancestor => mean.tie_ancestor,
            },
        ),
        ("lca", mean.lca),
        ("lca_max", mean.lca_max),
        ("jaccard", mean.jaccard),
        ("hierarchical_precision", mean.hierarchical_precision),
        ("hierarchical_recall", mean.hierarchical_recall),
    ])
}
