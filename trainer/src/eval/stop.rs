//! Where paths stop, and whether what is said there holds.

use std::collections::BTreeMap;

use espalier_core::caption::{Calibration, Classifier};
use espalier_core::error::Result;
use espalier_core::geometry::Space;
use espalier_core::taxonomy::NodeIx;

use super::calibrate::{Judgement, fit_scale, fit_slope};

/// Share of pictures, those nearest to the root, that are taken to be less known than others.
const HARDLY_KNOWN: f64 = 0.05;
/// Judgements below which a depth keeps its probabilities.
const FEW: usize = 50;
/// Coverages at which the risk is reported.
const COVERAGES: usize = 10;

/// One node of a photo's path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Its depth in the taxonomy.
    pub depth: u32,
    /// How likely it is said to be.
    pub said: f64,
    /// Whether it is the true node or above it.
    pub right: bool,
    /// Whether it tells anything: not so the root and what lies above most labels.
    pub tells: bool,
}

/// A photo's path against the truth.
#[derive(Clone, Debug, PartialEq)]
pub struct Walk {
    /// From the root to a label; at least one.
    pub steps: Vec<Step>,
    /// Where the path stops.
    pub stop: usize,
}

impl Walk {
    /// The path of a point in whose photo `truth` is.
    #[must_use]
    pub fn new(classifier: &Classifier, space: &Space, point: &[f32], truth: NodeIx) -> Self {
        let taxonomy = classifier.taxonomy();
        let path = classifier.path(space, point);
        let step = |(ix, p): &(NodeIx, f32)| Step {
            depth: taxonomy.depth(*ix),
            said: f64::from(*p),
            right: *ix == truth || taxonomy.ancestors(truth).contains(ix),
            tells: taxonomy.tells(*ix),
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

/// A point and the node that its photo shows.
pub type Picture<'a> = (&'a [f32], NodeIx);

/// Paths of pictures.
#[must_use]
pub fn walks(classifier: &Classifier, space: &Space, pictures: &[Picture<'_>]) -> Vec<Walk> {
    let one = |(point, truth): &Picture<'_>| Walk::new(classifier, space, point, *truth);
    pictures.iter().map(one).collect()
}

/// A calibration of pictures with known labels: the scale from the labels, then a slope for each
/// depth from the paths that the scale gives. `classifier` makes one of a calibration.
///
/// # Errors
/// Of `classifier`.
pub fn fit(
    classifier: impl Fn(Calibration) -> Result<Classifier>,
    space: &Space,
    pictures: &[Picture<'_>],
) -> Result<Calibration> {
    let plain = classifier(Calibration::of_scale(1.0))?;
    let labels = plain.taxonomy().labelled();
    let (mut logits, mut truth) = (Vec::new(), Vec::new());
    for (point, ix) in pictures {
        if let Some(at) = labels.iter().position(|label| label == ix) {
            logits.push(plain.logits(space, point));
            truth.push(at);
        }
    }
    let mut calibration = Calibration::of_scale(fit_scale(&logits, &truth));
    let scaled = classifier(calibration.clone())?;
    let mut by_depth: BTreeMap<u32, Vec<Judgement>> = BTreeMap::new();
    for step in walks(&scaled, space, pictures)
        .iter()
        .flat_map(|w| &w.steps)
    {
        let judged = by_depth.entry(step.depth).or_default();
        judged.push((step.said, step.right));
    }
    let deepest = by_depth.keys().copied().max().unwrap_or(0);
    let slope = |depth: u32| match by_depth.get(&depth) {
        Some(judged) if judged.len() >= FEW => fit_slope(judged),
        _ => 1.0,
    };
    calibration.levels = (0..=deepest).map(slope).collect();
    calibration.radii = known_from(pictures.iter().map(|(point, _)| space.radius(point)));
    Ok(calibration)
}

/// The least of some radii, and the one that [`HARDLY_KNOWN`] of them are below; none where there are
/// few, or where both are the same.
fn known_from(radii: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
    let mut radii: Vec<f64> = radii.collect();
    radii.sort_by(f64::total_cmp);
    let at = (HARDLY_KNOWN * radii.len() as f64) as usize;
    let (least, ordinary) = (*radii.first()?, *radii.get(at)?);
    (radii.len() >= FEW && least < ordinary).then_some([least, ordinary])
}

/// Paths of pictures, those of each half by what the other half teaches, and the calibration that
/// all of them teach.
///
/// # Errors
/// Of `classifier`.
pub fn crosswise(
    classifier: impl Fn(Calibration) -> Result<Classifier>,
    space: &Space,
    pictures: &[Picture<'_>],
) -> Result<(Vec<Walk>, Calibration)> {
    let half = |odd: usize| -> Vec<Picture<'_>> {
        pictures.iter().skip(odd).step_by(2).copied().collect()
    };
    let mut walked = Vec::with_capacity(pictures.len());
    for odd in [0, 1] {
        let fitted = fit(&classifier, space, &half(1 - odd))?;
        walked.extend(walks(&classifier(fitted)?, space, &half(odd)));
    }
    Ok((walked, fit(&classifier, space, pictures)?))
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0.0), |(sum, n), v| (sum + v, n + 1.0));
    if n > 0.0 { sum / n } else { 0.0 }
}

fn share(steps: &[Step], of: impl Fn(&Step) -> bool) -> f64 {
    mean(steps.iter().map(|s| f64::from(u8::from(of(s)))))
}

/// Mean distance, over ten equal bins of what is said weighed by their size, between what is said
/// and how often it is right.
fn calibration_error(steps: &[Step]) -> f64 {
    let mut bins = [0.0_f64; 10];
    for step in steps {
        let right = f64::from(u8::from(step.right));
        bins[((step.said * 10.0) as usize).min(9)] += step.said - right;
    }
    bins.iter().map(|gap| gap.abs()).sum::<f64>() / steps.len().max(1) as f64
}

/// Share of wrong answers among the `COVERAGES` tenths that are most certain, and the mean of that
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
    metrics.insert("risk_mean".to_owned(), mean(curve.into_iter()));
}

/// What holds of photos of known labels.
#[must_use]
pub fn known(walks: &[Walk]) -> BTreeMap<String, f64> {
    let stops: Vec<Step> = walks.iter().map(Walk::stopped).collect();
    let leaves: Vec<Step> = walks.iter().map(Walk::leaf).collect();
    let mut metrics = BTreeMap::new();
    for (name, steps) in [("stop", &stops), ("leaf", &leaves)] {
        let (right, said) = (
            share(steps, |s| s.right),
            mean(steps.iter().map(|s| s.said)),
        );
        metrics.insert(format!("{name}_right"), right);
        metrics.insert(format!("{name}_said"), said);
        metrics.insert(format!("{name}_gap"), (said - right).abs());
        metrics.insert(format!("{name}_error"), calibration_error(steps));
        metrics.insert(
            format!("{name}_depth"),
            mean(steps.iter().map(|s| f64::from(s.depth))),
        );
    }
    metrics.insert(
        "stop_tells".to_owned(),
        share(&stops, |s| s.right && s.tells),
    );
    risks(&leaves, &mut metrics);
    metrics
}

/// What holds of photos whose label is not among those to choose from, `threshold` being that of
/// the stop: the path with its stop beside one that always goes to a label, and one that names a
/// label or nothing.
#[must_use]
pub fn unknown(walks: &[Walk], threshold: f64) -> BTreeMap<String, f64> {
    let stops: Vec<Step> = walks.iter().map(Walk::stopped).collect();
    let leaves: Vec<Step> = walks.iter().map(Walk::leaf).collect();
    BTreeMap::from([
        ("unknown_n".to_owned(), walks.len() as f64),
        ("unknown_stop_right".to_owned(), share(&stops, |s| s.right)),
        (
            "unknown_stop_tells".to_owned(),
            share(&stops, |s| s.right && s.tells),
        ),
        (
            "unknown_stop_depth".to_owned(),
            mean(stops.iter().map(|s| f64::from(s.depth))),
        ),
        ("unknown_leaf_right".to_owned(), share(&leaves, |s| s.right)),
        (
            "unknown_leaf_or_nothing_right".to_owned(),
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
            tells: depth > 0,
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
    fn one_picture_in_twenty_is_hardly_known() {
        let radii = || (0..100).map(|i| 1.0 + f64::from(i) / 100.0);
        assert_eq!(known_from(radii()), Some([1.0, 1.05]));
        assert_eq!(known_from(radii().take(FEW - 1)), None);
        assert_eq!(known_from(radii().map(|_| 1.0)), None);
    }

    #[test]
    fn known_photos_are_right_as_often_as_counted_by_hand() {
        let found = known(&walks());
        let near = |name: &str, value: f64| {
            assert!(
                (found[name] - value).abs() < 1e-12,
                "{name}: {}",
                found[name]
            );
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
