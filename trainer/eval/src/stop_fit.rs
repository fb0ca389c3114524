//! Fits the calibration of stops and of the probabilities that are reported there.

use espalier_core::caption::evidence::INPUTS;
use espalier_core::caption::{Calibration, Classifier, Evidence, ImageEvidence};
use espalier_core::error::Result;
use espalier_core::geometry::Space;
use espalier_core::taxonomy::NodeIx;

use super::calibrate::{Case, fit_logistic, fit_scale};
use super::metrics::summary::mean;
use super::stop::{Kind, KnownImage, Walk, walks};

/// A path stops at the deepest node with at least this support. Most photos that people take show no known label, so half
/// of the photos of the fit show none. The value is high because a stop that is too deep misleads, while one that is too
/// shallow is only vague.
const THRESHOLD: f64 = 0.88;
/// The same for the first informative node of a path: a general answer is worth more than none. Most
/// photos that show no label are then at least said to be of an animal or a man-made object. Plain
/// colours stay below this limit. It is low because the weight of outliers lowers all support.
const FIRST_THRESHOLD: f64 = 0.38;
/// Weight of the node at which a path stops, in the fit of the reported probabilities.
const AT_STOP: f64 = 5.0;
/// Number of folds of the labels; each is held out in turn, so that its photos show no known label.
const PARTS: usize = 5;
/// Minimum number of plain photos for a fit of the evidence.
const FEW: usize = 50;
/// Weight of a photo whose label is held out, in the fit of the stops.
const UNKNOWN_WEIGHT: f64 = 2.0;

/// Returns the weight of an image in the fit of the reported probabilities. Nearly all photos are
/// ordinary, so the others count little.
const fn report_weight(kind: Kind) -> f64 {
    match kind {
        Kind::Plain => 1.0,
        Kind::Corrupted(_) | Kind::Outlier => 0.05,
    }
}

/// Returns the weight of an image in the fit of the stops. Outliers are few, and a path must stop
/// early on them.
const fn stop_weight(kind: Kind) -> f64 {
    match kind {
        Kind::Plain => 1.0,
        Kind::Corrupted(_) => 0.2,
        Kind::Outlier => 2.0,
    }
}

/// Fits a calibration to images with known labels: first the scale of the logits on the labels of
/// plain photos, then two logistic models of the [`Evidence`] for the nodes of paths, one for the
/// reported probabilities and one for the stops. The fit of the stops also uses photos whose labels
/// are held out. `classifier` builds a classifier from a calibration.
///
/// # Errors
/// Those of `classifier`.
fn fit(
    classifier: impl Fn(Calibration) -> Result<Classifier>,
    space: &Space,
    images: &[KnownImage<'_>],
) -> Result<Calibration> {
    let plain = classifier(Calibration::of_scale(1.0))?;
    let labels = plain.taxonomy().labelled();
    let (mut logits, mut truth) = (Vec::new(), Vec::new());
    for image in images.iter().filter(|image| image.is_plain()) {
        if let Some(at) = labels.iter().position(|label| Some(*label) == image.truth) {
            logits.push(plain.logits(space, image.point));
            truth.push(at);
        }
    }
    let calibration = Calibration::of_scale(fit_scale(&logits, &truth));
    let scaled = classifier(calibration.clone())?;
    Ok(with_evidence(&scaled, space, images)?.unwrap_or(calibration))
}

/// Adds the logistic models for the nodes on the paths of images, and the thresholds of the stops;
/// `None` for too few images, or if all of them have the same evidence.
fn with_evidence(
    scaled: &Classifier,
    space: &Space,
    images: &[KnownImage<'_>],
) -> Result<Option<Calibration>> {
    let Some(mut model) = standards(scaled, space, images) else {
        return Ok(None);
    };
    let path = |image| judged(&model, scaled, space, image).collect::<Vec<Case>>();
    let known: Vec<Vec<Case>> = images.iter().map(path).collect();
    let mut cases = Vec::new();
    for (image, path) in images.iter().zip(&known) {
        let weight = stop_weight(image.kind);
        cases.extend(path.iter().map(|node| Case { weight, ..*node }));
    }
    let weight = UNKNOWN_WEIGHT;
    let unknown = held_out(&model, scaled, space, images)?.into_iter();
    cases.extend(unknown.map(|node| Case { weight, ..node }));
    model.weights = fitted(&cases);
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

    // Users read the reported probability at the stop of a path more than elsewhere.
    let stopping = scaled.clone().with_calibration(calibration.clone())?;
    cases.clear();
    for (image, path) in images.iter().zip(&known) {
        let stop = stopping.path(space, image.point).stop;
        for (at, node) in (1..).zip(path) {
            let emphasis = if at == stop { AT_STOP } else { 1.0 };
            let weight = emphasis * report_weight(image.kind);
            cases.push(Case { weight, ..*node });
        }
    }
    model.weights = fitted(&cases);
    if model.fault().is_some() {
        return Ok(None);
    }
    calibration.evidence = Some(model);
    Ok(Some(calibration))
}

/// Returns the model of the evidence without weights: statistics of plain photos.
fn standards(scaled: &Classifier, space: &Space, images: &[KnownImage<'_>]) -> Option<Evidence> {
    let plain = images.iter().filter(|image| image.is_plain());
    let all: Vec<ImageEvidence> = plain.map(|p| seen(scaled, space, p)).collect();
    if all.len() < FEW {
        return None;
    }
    Some(Evidence {
        weights: Vec::new(),
        stop_weights: None,
        best: spread(all.iter().map(|seen| seen.best))?,
        // Photos of one radius differ by rounding only, which is no evidence.
        radius: spread(all.iter().map(|seen| seen.radius)).unwrap_or([all[0].radius, 1.0]),
    })
}

/// Fits a logistic model, which begins with the first input alone.
fn fitted(cases: &[Case]) -> Vec<f64> {
    let mut start = [0.0; INPUTS];
    start[0] = 1.0;
    fit_logistic(cases, start).to_vec()
}

/// Returns the evidence of an image that does not depend on the node.
fn seen(classifier: &Classifier, space: &Space, image: &KnownImage<'_>) -> ImageEvidence {
    let logits = classifier.logits(space, image.point).into_iter();
    ImageEvidence {
        best: classifier.calibration().scale * logits.fold(f64::NEG_INFINITY, f64::max),
        radius: space.radius(image.point),
    }
}

/// Returns the nodes of an image's path below the root, and whether the image shows each, with
/// weight 1; `model` holds the statistics of ordinary photos.
fn judged(
    model: &Evidence,
    scaled: &Classifier,
    space: &Space,
    image: &KnownImage<'_>,
) -> impl Iterator<Item = Case> {
    let taxonomy = scaled.taxonomy();
    let seen = seen(scaled, space, image);
    let truth = image.truth;
    let steps = scaled.path(space, image.point).steps.into_iter();
    let below_root = steps.filter(|(node, _)| *node != taxonomy.root());
    below_root.map(move |(node, share)| {
        let labels = taxonomy.labelled_below(node).len();
        Case {
            inputs: model.inputs(f64::from(share), labels, seen),
            right: truth.is_some_and(|truth| truth == node || taxonomy.is_ancestor(node, truth)),
            weight: 1.0,
        }
    })
}

/// Judges plain photos, each with a classifier that lacks its label and others: those of its fold.
fn held_out(
    model: &Evidence,
    scaled: &Classifier,
    space: &Space,
    images: &[KnownImage<'_>],
) -> Result<Vec<Case>> {
    let labels = scaled.taxonomy().labelled();
    let part = |ix: NodeIx| labels.binary_search(&ix).map_or(PARTS, |at| at % PARTS);
    let mut found = Vec::new();
    for gone in 0..PARTS.min(labels.len() / 2) {
        let fewer = scaled.without_labels(|ix| part(ix) == gone)?;
        let own = images
            .iter()
            .filter(|image| image.is_plain() && image.truth.map(part) == Some(gone));
        found.extend(own.flat_map(|image| judged(model, &fewer, space, image)));
    }
    Ok(found)
}

/// Returns the mean and standard deviation; `None` if the values do not differ by more than rounding.
fn spread(values: impl Iterator<Item = f64> + Clone) -> Option<[f64; 2]> {
    let mean_of = mean(values.clone());
    let deviation = mean(values.map(|v| (v - mean_of).powi(2))).sqrt();
    (deviation > 1e-5 * mean_of.abs()).then_some([mean_of, deviation])
}

/// Returns the result of two-fold cross-fitting: each half of the photos is evaluated with the
/// calibration of the other half. Returns the paths of the images with a true node, with their
/// kinds, and the calibration fitted on all images.
///
/// # Errors
/// Those of `classifier`.
pub fn cross_fit(
    classifier: impl Fn(Calibration) -> Result<Classifier>,
    space: &Space,
    images: &[KnownImage<'_>],
) -> Result<(Vec<(Kind, Walk)>, Calibration)> {
    let half = |odd: usize| -> Vec<KnownImage<'_>> {
        let own = images.iter().filter(|image| image.photo % 2 == odd);
        own.copied().collect()
    };
    let mut walked = Vec::with_capacity(images.len());
    for odd in [0, 1] {
        let fitted = fit(&classifier, space, &half(1 - odd))?;
        let fitted = classifier(fitted)?;
        for image in half(odd) {
            let walk = walks(&fitted, space, &[image]).pop();
            walked.extend(walk.map(|walk| (image.kind, walk)));
        }
    }
    Ok((walked, fit(&classifier, space, images)?))
}
