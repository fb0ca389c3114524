//! Hierarchical text-image matching over a set of images (notation 6.4 and 6.7).

use std::collections::{BTreeMap, BTreeSet};

use espalier_core::geometry::Space;

use super::Points;
use super::metrics::correlation::kendall_tau;
use super::metrics::named;
use super::metrics::steps::{Match, Pool, Radii, compare, f1};
use super::metrics::summary::mean;
use super::search;

/// Parameters of the walk from the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walk {
    /// Source of the radii.
    pub radii: Radii,
    /// Number of radii.
    pub steps: usize,
    /// Whether the first radius is skipped.
    pub drop_first: bool,
}

/// Chains of texts and the images that they belong to.
#[derive(Clone, Copy, Debug)]
pub struct Chains<'a> {
    /// Texts of each chain, general to specific, all of one length.
    pub texts: &'a [Vec<String>],
    /// Their points, chain after chain.
    pub points: &'a Points,
    /// The chains of each image.
    pub of_image: &'a [Vec<usize>],
}

/// `precision`, `recall` and `f1` (the harmonic mean of their means) over images that have a chain;
/// `d_corr` (tau_d) over chains.
pub fn metrics(
    space: &Space,
    images: &Points,
    chains: Chains<'_>,
    walk: Walk,
) -> BTreeMap<String, f64> {
    let tiers = chains.texts.first().map_or(0, Vec::len);
    let flat: Vec<&str> = chains.texts.iter().flatten().map(String::as_str).collect();
    let radii: Vec<f64> = chains.points.rows().map(|p| space.radius(p)).collect();
    let tau = mean(radii.chunks(tiers.max(1)).map(kendall_tau));
    let pool = Pool::new(radii);
    let matches = search::scores(space, images, chains.points, |image, scores| {
        let of_image = &chains.of_image[image];
        if of_image.is_empty() {
            return None;
        }
        let thresholds = pool.thresholds(scores, walk.radii, walk.steps);
        let skipped = usize::from(walk.drop_first).min(thresholds.len());
        let named = pool.walk(scores, &thresholds[skipped..]);
        let predicted: BTreeSet<&str> = named.into_iter().map(|text| flat[text]).collect();
        let references = of_image.iter().map(|chain| chains.texts[*chain].as_slice());
        Some(compare(&predicted, &references.collect::<Vec<_>>(), tiers))
    });
    let matches: Vec<Match> = matches.into_iter().flatten().collect();
    let precision = mean(matches.iter().map(|m| m.precision));
    let recall = mean(matches.iter().map(|m| m.recall));
    named([
        ("precision", precision),
        ("recall", recall),
        ("f1", f1(precision, recall)),
        ("d_corr", tau),
    ])
}
