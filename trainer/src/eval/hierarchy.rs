//! Distance of wrong answers from the truth in the taxonomy (notation 6.3).

use std::collections::BTreeMap;

use espalier_core::taxonomy::{NodeIx, Taxonomy, metrics};

/// Returns the mean tree scores of the top-1 answers.
#[must_use]
pub fn scores(
    taxonomy: &Taxonomy,
    predicted: &[NodeIx],
    truth: &[NodeIx],
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
        ("tie".to_owned(), mean.tie),
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
