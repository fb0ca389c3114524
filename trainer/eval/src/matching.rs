//! Hierarchical text-image matching over a set of images (notation 6.4 and 6.7).

use std::collections::{BTreeMap, BTreeSet};

use espalier_core::geometry::Space;
use serde::{Deserialize, Serialize};

use super::Points;
use super::metrics::named;
use super::metrics::steps::{Match, Pool, Radii, compare, f1};
use super::ordering::kendall_tau;
use super::search;

/// Parameters of the walk from the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Walk {
    /// Source of the radii.
    pub radii: Radii,
    /// Number of radii.
    pub steps: usize,
    /// Whether the first radius is skipped.
    pub drop_first: bool,
}

impl Walk {
    /// Returns the published walk for a space: radii per image from the origin in hyperbolic
    /// spaces, over the global range of radii on the sphere; 50 radii, including the first.
    pub fn published(space: &Space) -> Self {
        let radii = match space {
            Space::Sphere { .. } => Radii::Global,
            _ => Radii::PerImage,
        };
        Self {
            radii,
            steps: 50,
            drop_first: false,
        }
    }
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

/// Returns the texts named by each image's walk, in order, without repeated neighbours.
pub fn walks(space: &Space, images: &Points, chains: Chains<'_>, walk: Walk) -> Vec<Vec<usize>> {
    let radii = chains.points.rows().map(|p| space.radius(p)).collect();
    let pool = Pool::new(radii);
    let flat: Vec<&str> = chains.texts.iter().flatten().map(String::as_str).collect();
    search::scores(space, images, chains.points, |_, scores| {
        let thresholds = pool.thresholds(scores, walk.radii, walk.steps);
        let skipped = usize::from(walk.drop_first).min(thresholds.len());
        let mut named = pool.walk(scores, &thresholds[skipped..]);
        named.dedup_by(|a, b| flat[*a] == flat[*b]);
        named
    })
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
    let matches: Vec<Match> = walks(space, images, chains, walk)
        .into_iter()
        .zip(chains.of_image)
        .filter(|(_, chains_of_image)| !chains_of_image.is_empty())
        .map(|(named, chains_of_image)| {
            let predicted: BTreeSet<&str> = named.into_iter().map(|text| flat[text]).collect();
            let references = chains_of_image.iter().map(|c| chains.texts[*c].as_slice());
            compare(&predicted, &references.collect::<Vec<_>>(), tiers)
        })
        .collect();
    let n = matches.len().max(1) as f64;
    let precision = matches.iter().map(|m| m.precision).sum::<f64>() / n;
    let recall = matches.iter().map(|m| m.recall).sum::<f64>() / n;
    let radii: Vec<f64> = chains.points.rows().map(|p| space.radius(p)).collect();
    let taus = radii.chunks(tiers.max(1)).map(kendall_tau);
    let tau = taus.sum::<f64>() / chains.texts.len().max(1) as f64;
    named([
        ("precision", precision),
        ("recall", recall),
        ("f1", f1(precision, recall)),
        ("d_corr", tau),
    ])
}
