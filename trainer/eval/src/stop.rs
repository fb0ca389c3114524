//! Where paths stop, and whether the probabilities reported there are correct.

use std::collections::BTreeMap;

use espalier_core::caption::Classifier;
use espalier_core::geometry::Space;
use espalier_core::taxonomy::NodeIx;
use espalier_data::records::corruption::Corruption;

use super::metrics::named;
use super::metrics::summary::mean;

/// Number of coverages at which the risk is reported.
const COVERAGES: usize = 10;

/// One node of a photo's path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Its depth in the taxonomy.
    pub depth: u32,
    /// Its reported probability.
    pub said: f64,
    /// Whether it is the true node or an ancestor of it.
    pub right: bool,
    /// Whether it is informative; the root and nodes above most labels are not.
    pub is_informative: bool,
}

/// A photo's path compared with the truth.
#[derive(Clone, Debug, PartialEq)]
pub struct Walk {
    /// From the root to a label; at least one.
    pub steps: Vec<Step>,
    /// Index of the step at which the path stops.
    pub stop: usize,
}

impl Walk {
    /// Returns the path of a point whose photo shows `truth`.
    pub fn new(classifier: &Classifier, space: &Space, point: &[f32], truth: NodeIx) -> Self {
        let taxonomy = classifier.taxonomy();
        let path = classifier.path(space, point);
        let step = |(ix, p): &(NodeIx, f32)| Step {
            depth: taxonomy.depth(*ix),
            said: f64::from(*p),
            right: *ix == truth || taxonomy.ancestors(truth).contains(ix),
            is_informative: taxonomy.is_informative(*ix),
        };
        Self {
            steps: path.steps.iter().map(step).collect(),
            stop: path.stop,
        }
    }

    fn stopped(&self) -> Step {
        self.steps[self.stop]
    }

    fn leaf(&self) -> Step {
        self.steps[self.steps.len() - 1]
    }
}

/// Kind of an image in a calibration set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A photo as it was taken.
    Plain,
    /// A corrupted copy.
    Corrupted(Corruption),
    /// A generated outlier image, which shows no object.
    Outlier,
}

/// A photo's embedding with its true node.
#[derive(Clone, Copy, Debug)]
pub struct KnownImage<'a> {
    /// Its point.
    pub point: &'a [f32],
    /// The node that it shows; `None` for an outlier, which shows nothing below the root.
    pub truth: Option<NodeIx>,
    /// Whether it is a plain photo, a corrupted copy or an outlier.
    pub kind: Kind,
    /// Number of the photo; copies of a photo share it, so that they fall into the same half.
    pub photo: usize,
}

impl<'a> KnownImage<'a> {
    /// Returns a photo as it is.
    pub fn new(point: &'a [f32], truth: NodeIx, photo: usize) -> Self {
        Self {
            point,
            truth: Some(truth),
            kind: Kind::Plain,
            photo,
        }
    }

    pub(super) fn is_plain(&self) -> bool {
        self.kind == Kind::Plain
    }
}

/// Returns the paths of images with a true node.
pub fn walks(classifier: &Classifier, space: &Space, images: &[KnownImage<'_>]) -> Vec<Walk> {
    let one = |image: &KnownImage<'_>| {
        let truth = image.truth?;
        Some(Walk::new(classifier, space, image.point, truth))
    };
    images.iter().filter_map(one).collect()
}

fn share(steps: &[Step], of: impl Fn(&Step) -> bool) -> f64 {
    mean(steps.iter().map(|s| f64::from(u8::from(of(s)))))
}

fn tells(step: &Step) -> bool {
    step.right && step.is_informative
}

fn mean_depth(steps: &[Step]) -> f64 {
    mean(steps.iter().map(|s| f64::from(s.depth)))
}

/// Returns the expected calibration error: mean distance between the reported probability and the
/// accuracy, over ten equal bins weighted by their size.
fn calibration_error(steps: &[Step]) -> f64 {
    let mut bins = [0.0_f64; 10];
    for step in steps {
        let right = f64::from(u8::from(step.right));
        bins[((step.said * 10.0) as usize).min(9)] += step.said - right;
    }
    bins.iter().map(|gap| gap.abs()).sum::<f64>() / steps.len().max(1) as f64
}

/// Share of wrong answers among the most certain tenths (`COVERAGES` of them), and the mean of that
/// share over all coverages.
fn risks(leaves: &[Step], metrics: &mut BTreeMap<String, f64>) {
    let mut sorted = leaves.to_vec();
    sorted.sort_by(|a, b| b.said.total_cmp(&a.said));
    let mut wrong = 0.0;
    let mut curve = Vec::with_capacity(sorted.len());
    for (i, step) in sorted.iter().enumerate() {
        wrong += f64::from(u8::from(!step.right));
        curve.push(wrong / (i + 1) as f64);
    }
    for tenth in 1..=COVERAGES {
        let covered = (sorted.len() * tenth).div_ceil(COVERAGES);
        if let Some(risk) = curve.get(covered.wrapping_sub(1)) {
            metrics.insert(format!("risk_at_{:03}", tenth * 100 / COVERAGES), *risk);
        }
    }
    metrics.insert("risk_mean".to_owned(), mean(curve));
}

/// Returns the metrics of photos with known labels.
pub fn known(walks: &[Walk]) -> BTreeMap<String, f64> {
    let stops: Vec<Step> = walks.iter().map(Walk::stopped).collect();
    let leaves: Vec<Step> = walks.iter().map(Walk::leaf).collect();
    let mut metrics = BTreeMap::new();
    for (name, steps) in [("stop", &stops), ("leaf", &leaves)] {
        let right = share(steps, |s| s.right);
        let said = mean(steps.iter().map(|s| s.said));
        for (metric, value) in [
            ("right", right),
            ("said", said),
            ("gap", (said - right).abs()),
            ("error", calibration_error(steps)),
            ("depth", mean_depth(steps)),
        ] {
            metrics.insert(format!("{name}_{metric}"), value);
        }
    }
    metrics.insert("stop_tells".to_owned(), share(&stops, tells));
    risks(&leaves, &mut metrics);
    metrics
}

/// Returns the metrics of photos whose label is not among the choices; `threshold` is that of the
/// stop. Compares the path with its stop, one that always goes to a label, and one that names a
/// label or nothing.
pub fn unknown(walks: &[Walk], threshold: f64) -> BTreeMap<String, f64> {
    let stops: Vec<Step> = walks.iter().map(Walk::stopped).collect();
    let leaves: Vec<Step> = walks.iter().map(Walk::leaf).collect();
    named([
        ("unknown_n", walks.len() as f64),
        ("unknown_stop_right", share(&stops, |s| s.right)),
        ("unknown_stop_tells", share(&stops, tells)),
        ("unknown_stop_depth", mean_depth(&stops)),
        ("unknown_leaf_right", share(&leaves, |s| s.right)),
        (
            "unknown_leaf_or_nothing_right",
            share(&leaves, |s| s.right || s.said < threshold),
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(depth: u32, said: f64, right: bool) -> Step {
        Step {
            depth,
            said,
            right,
            is_informative: depth > 0,
        }
    }

    fn walks() -> Vec<Walk> {
        // Three stop at depth 1 and are right twice; one goes to its label and is right.
        let short = |right| Walk {
            steps: vec![step(0, 1.0, true), step(1, 0.7, right), step(2, 0.4, false)],
            stop: 1,
        };
        let long = Walk {
            steps: vec![step(0, 1.0, true), step(1, 0.9, true), step(2, 0.8, true)],
            stop: 2,
        };
        vec![short(true), short(true), short(false), long]
    }

    #[test]
    fn known_photos_are_right_as_often_as_counted_by_hand() {
        let found = known(&walks());
        let near = |name: &str, value: f64| {
            let found = found[name];
            assert!((found - value).abs() < 1e-12, "{name}: {found}");
        };
        near("stop_right", 0.75);
        near("stop_said", (3.0 * 0.7 + 0.8) / 4.0);
        near("stop_gap", 0.025);
        // Bins 7 and 8: |3 * 0.7 - 2| and |0.8 - 1|, over four photos.
        near("stop_error", (0.1 + 0.2) / 4.0);
        near("stop_depth", 1.25);
        near("leaf_right", 0.25);
        // The most certain leaf is right, the three others are wrong.
        near("risk_at_020", 0.0);
        near("risk_at_050", 0.5);
        near("risk_at_100", 0.75);
        near("risk_mean", (0.0 + 0.5 + 2.0 / 3.0 + 0.75) / 4.0);
    }

    #[test]
    fn a_label_or_nothing_says_nothing_below_the_threshold() {
        let found = unknown(&walks(), 0.5);
        assert_eq!(found["unknown_stop_tells"], 0.75);
        assert_eq!(found["unknown_leaf_right"], 0.25);
        assert_eq!(found["unknown_leaf_or_nothing_right"], 1.0);
    }
}
