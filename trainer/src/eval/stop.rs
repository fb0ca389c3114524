//! Where paths stop, and whether the probabilities reported there are correct.

use std::collections::BTreeMap;

use espalier_core::caption::evidence::INPUTS;
use espalier_core::caption::{Calibration, Classifier, Evidence, ImageEvidence};
use espalier_core::error::Result;
use espalier_core::geometry::Space;
use espalier_core::taxonomy::NodeIx;

use crate::data::records::corruption::Corruption;

use super::calibrate::{Case, fit_logistic, fit_scale};

/// A path stops at the deepest node with at least this support: three of four stops must be right
/// when half of the photos show no known label. The value is high because a stop that is too deep
/// misleads, while one that is too shallow is only vague.
const THRESHOLD: f64 = 0.75;
/// The same for the first informative node of a path: a general answer is worth more than none. Most
/// photos that show no label are then at least said to be of an animal or a man-made object. Plain
/// colours stay below this limit; the support is low because outliers weigh much in its fit.
const FIRST_THRESHOLD: f64 = 0.45;
/// Weight of the node at which a path stops, in the fit of the reported probabilities.
const AT_STOP: f64 = 5.0;
/// Number of folds of the labels; each is held out in turn, so that its photos show no known label.
const PARTS: usize = 5;
/// Minimum number of plain photos for a fit of the evidence.
const FEW: usize = 50;
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
    /// The path of a point whose photo shows `truth`.
    #[must_use]
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

/// Purpose of a model of the evidence; it determines the weight of each kind of image in the fit.
/// Most photos are ordinary. The other kinds are there to be told apart from them, and count less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// The reported probability of a node.
    Said,
    /// The decision where a path stops.
    Stop,
}

impl Purpose {
    const fn weight(self, kind: Kind) -> f64 {
        match (self, kind) {
            (_, Kind::Plain) => 1.0,
            (Self::Said, Kind::Corrupted(_) | Kind::Outlier) => 0.05,
            (Self::Stop, Kind::Corrupted(_)) => 0.2,
            (Self::Stop, Kind::Outlier) => 2.0,
        }
    }

    /// Weight of a photo whose label is held out.
    const fn weight_of_unknown(self) -> f64 {
        match self {
            Self::Said => 0.0,
            Self::Stop => 2.0,
        }
    }
}

/// A photo's embedding with its true node.
#[derive(Clone, Copy, Debug)]
pub struct Picture<'a> {
    /// Its point.
    pub point: &'a [f32],
    /// The node that it shows; `None` for an outlier, which shows nothing below the root.
    pub truth: Option<NodeIx>,
    /// Whether it is a plain photo, a corrupted copy or an outlier.
    pub kind: Kind,
    /// Number of the photo; copies of a photo share it, so that they fall into the same half.
    pub photo: usize,
}

impl<'a> Picture<'a> {
    /// A photo as it is.
    #[must_use]
    pub fn new(point: &'a [f32], truth: NodeIx, photo: usize) -> Self {
        Self {
            point,
            truth: Some(truth),
            kind: Kind::Plain,
            photo,
        }
    }

    fn is_plain(&self) -> bool {
        self.kind == Kind::Plain
    }
}

/// Paths of images with a true node.
#[must_use]
pub fn walks(classifier: &Classifier, space: &Space, pictures: &[Picture<'_>]) -> Vec<Walk> {
    let one = |picture: &Picture<'_>| {
        let truth = picture.truth?;
        Some(Walk::new(classifier, space, picture.point, truth))
    };
    pictures.iter().filter_map(one).collect()
}

/// Fits a calibration to images with known labels: first the scale of the logits on the labels of
/// plain photos, then two logistic models of the [`Evidence`] for the nodes of paths, one for the
/// reported probabilities and one for the stops. The fit of the stops also uses photos whose labels
/// are held out. `classifier` builds a classifier from a calibration.
///
/// # Errors
/// Those of `classifier`.
pub fn fit(
    classifier: impl Fn(Calibration) -> Result<Classifier>,
    space: &Space,
    pictures: &[Picture<'_>],
) -> Result<Calibration> {
    let plain = classifier(Calibration::of_scale(1.0))?;
    let labels = plain.taxonomy().labelled();
    let (mut logits, mut truth) = (Vec::new(), Vec::new());
    for picture in pictures.iter().filter(|picture| picture.is_plain()) {
        if let Some(at) = labels
            .iter()
            .position(|label| Some(*label) == picture.truth)
        {
            logits.push(plain.logits(space, picture.point));
            truth.push(at);
        }
    }
    let calibration = Calibration::of_scale(fit_scale(&logits, &truth));
    let scaled = classifier(calibration.clone())?;
    Ok(with_evidence(&scaled, space, pictures)?.unwrap_or(calibration))
}

/// Adds the logistic models for the nodes on the paths of images, and the thresholds of the stops;
/// `None` for too few images, or if all of them have the same evidence.
fn with_evidence(
    scaled: &Classifier,
    space: &Space,
    pictures: &[Picture<'_>],
) -> Result<Option<Calibration>> {
    let Some(mut model) = standards(scaled, space, pictures) else {
        return Ok(None);
    };
    let known: Vec<Vec<Judgement>> = pictures
        .iter()
        .map(|picture| judgements(&model, scaled, space, picture).collect())
        .collect();
    let unknown = held_out(&model, scaled, space, pictures)?;

    let of_known = pictures.iter().zip(&known).flat_map(|(picture, path)| {
        let weight = Purpose::Stop.weight(picture.kind);
        path.iter().map(move |node| node.case(weight))
    });
    let of_unknown = unknown.iter();
    let of_unknown = of_unknown.map(|node| node.case(Purpose::Stop.weight_of_unknown()));
    model.weights = fitted(of_known.chain(of_unknown).collect());
    model.stop_weights = Some(model.weights.clone());
    if model.fault().is_some() {
        return Ok(None);
    }
    let mut calibration = Calibration {
        threshold: THRESHOLD,
        first_threshold: Some(FIRST_THRESHOLD),
        evidence: Some(model.clone()),
        ..scaled.calibration().clone()
    };

    // What is reported is read at the stop of a path more than elsewhere.
    let stopping = scaled.clone().with_calibration(calibration.clone())?;
    let mut cases = Vec::new();
    for (picture, path) in pictures.iter().zip(&known) {
        let stop = stopping.path(space, picture.point).stop;
        for (at, node) in (1..).zip(path) {
            let emphasis = if at == stop { AT_STOP } else { 1.0 };
            cases.push(node.case(emphasis * Purpose::Said.weight(picture.kind)));
        }
    }
    model.weights = fitted(cases);
    if model.fault().is_some() {
        return Ok(None);
    }
    calibration.evidence = Some(model);
    Ok(Some(calibration))
}

/// The model of the evidence without weights: statistics of plain photos.
fn standards(scaled: &Classifier, space: &Space, pictures: &[Picture<'_>]) -> Option<Evidence> {
    let plain = pictures.iter().filter(|picture| picture.is_plain());
    let all: Vec<ImageEvidence> = plain.map(|p| seen(scaled, space, p)).collect();
    if all.len() < FEW {
        return None;
    }
    Some(Evidence {
        weights: Vec::new(),
        stop_weights: None,
        best: spread(all.iter().map(|seen| seen.best))?,
        radius: spread(all.iter().map(|seen| seen.radius))?,
    })
}

/// Fits a logistic model; cases of weight 0 are left out.
fn fitted(mut cases: Vec<Case>) -> Vec<f64> {
    cases.retain(|case| case.weight > 0.0);
    let mut start = [0.0; INPUTS];
    start[0] = 1.0;
    fit_logistic(&cases, start).to_vec()
}

/// Evidence of an image that does not depend on the node.
fn seen(classifier: &Classifier, space: &Space, picture: &Picture<'_>) -> ImageEvidence {
    let logits = classifier.logits(space, picture.point).into_iter();
    ImageEvidence {
        best: classifier.calibration().scale * logits.fold(f64::NEG_INFINITY, f64::max),
        radius: space.radius(picture.point),
    }
}

/// A node of an image's path, and whether the image shows it.
struct Judgement {
    inputs: [f64; INPUTS],
    right: bool,
}

impl Judgement {
    fn case(&self, weight: f64) -> Case {
        Case {
            inputs: self.inputs,
            right: self.right,
            weight,
        }
    }
}

/// The nodes of an image's path below the root; `model` holds the statistics of ordinary photos.
fn judgements(
    model: &Evidence,
    scaled: &Classifier,
    space: &Space,
    picture: &Picture<'_>,
) -> impl Iterator<Item = Judgement> {
    let taxonomy = scaled.taxonomy();
    let seen = seen(scaled, space, picture);
    let truth = picture.truth;
    let steps = scaled.path(space, picture.point).steps.into_iter();
    let below_root = steps.filter(|(node, _)| *node != taxonomy.root());
    below_root.map(move |(node, share)| {
        let labels = taxonomy.labelled_below(node).len();
        Judgement {
            inputs: model.inputs(f64::from(share), labels, seen),
            right: truth.is_some_and(|truth| truth == node || taxonomy.is_ancestor(node, truth)),
        }
    })
}

/// As [`judgements`], for plain photos, each with a classifier that lacks its label and a share of
/// the others.
fn held_out(
    model: &Evidence,
    scaled: &Classifier,
    space: &Space,
    pictures: &[Picture<'_>],
) -> Result<Vec<Judgement>> {
    let labels = scaled.taxonomy().labelled();
    let part = |ix: NodeIx| labels.binary_search(&ix).map_or(PARTS, |at| at % PARTS);
    let mut found = Vec::new();
    for gone in 0..PARTS.min(labels.len() / 2) {
        let fewer = scaled.without_labels(|ix| part(ix) == gone)?;
        let own = pictures
            .iter()
            .filter(|picture| picture.is_plain() && picture.truth.map(part) == Some(gone));
        found.extend(own.flat_map(|picture| judgements(model, &fewer, space, picture)));
    }
    Ok(found)
}

/// Mean and standard deviation; `None` if the values do not differ.
fn spread(values: impl Iterator<Item = f64> + Clone) -> Option<[f64; 2]> {
    let mean_of = mean(values.clone());
    let deviation = mean(values.map(|v| (v - mean_of).powi(2))).sqrt();
    (deviation > 1e-9).then_some([mean_of, deviation])
}

/// Two-fold cross-fitting: each half of the photos is evaluated with the calibration of the other
/// half. Returns the paths of the images with a true node, with their kinds, and the calibration
/// fitted on all images.
///
/// # Errors
/// Those of `classifier`.
pub fn cross_fit(
    classifier: impl Fn(Calibration) -> Result<Classifier>,
    space: &Space,
    pictures: &[Picture<'_>],
) -> Result<(Vec<(Kind, Walk)>, Calibration)> {
    let half = |odd: usize| -> Vec<Picture<'_>> {
        let own = pictures.iter().filter(|picture| picture.photo % 2 == odd);
        own.copied().collect()
    };
    let mut walked = Vec::with_capacity(pictures.len());
    for odd in [0, 1] {
        let fitted = fit(&classifier, space, &half(1 - odd))?;
        let fitted = classifier(fitted)?;
        for picture in half(odd) {
            let walk = walks(&fitted, space, &[picture]).pop();
            walked.extend(walk.map(|walk| (picture.kind, walk)));
        }
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

/// Expected calibration error: mean distance between the reported probability and the accuracy,
/// over ten equal bins weighted by their size.
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
    metrics.insert("risk_mean".to_owned(), mean(curve.into_iter()));
}

/// Metrics of photos with known labels.
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
        share(&stops, |s| s.right && s.is_informative),
    );
    risks(&leaves, &mut metrics);
    metrics
}

/// Metrics of photos whose label is not among the choices; `threshold` is that of the stop.
/// Compares the path with its stop, one that always goes to a label, and one that names a label or
/// nothing.
#[must_use]
pub fn unknown(walks: &[Walk], threshold: f64) -> BTreeMap<String, f64> {
    let stops: Vec<Step> = walks.iter().map(Walk::stopped).collect();
    let leaves: Vec<Step> = walks.iter().map(Walk::leaf).collect();
    BTreeMap::from([
        ("unknown_n".to_owned(), walks.len() as f64),
        ("unknown_stop_right".to_owned(), share(&stops, |s| s.right)),
        (
            "unknown_stop_tells".to_owned(),
            share(&stops, |s| s.right && s.is_informative),
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
