//! How likely a node of the taxonomy is, from all that a photo's embedding shows.
//!
//! A softmax knows only which label is nearest, not whether anything is near: a blurred photo, or one
//! of a thing that is no label, gets shares as large as a clear one. Two more numbers tell them apart,
//! the logit of the nearest label (Hendrycks et al. 2022, "Scaling Out-of-Distribution Detection for
//! Real-World Settings") and the radius of the embedding. With the share at or below a node and how
//! specific the node is they make a logistic model (Platt 1999).
//!
//! Two questions are asked of it, with weights of their own. What is said of a node should be right as
//! often as it is said, so that model is fitted on photos of labels. Where a path stops should also hold
//! for photos of things that are no label, which are fitted with it in the model that decides this: among
//! known photos alone, nothing teaches that the nearest label may be the wrong one.

use serde::{Deserialize, Serialize};

/// Shares closer to 0 or 1 than this count as that far from it.
const LEAST_SHARE: f64 = 1e-5;

/// Number of inputs of [`Evidence`].
pub const INPUTS: usize = 9;

/// A logistic model of whether a photo shows a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Weights of what is said of a node, at most [`INPUTS`], in the order of [`Evidence::inputs`];
    /// those that are missing are 0.
    pub weights: Vec<f64>,
    /// The same of what decides where a path stops; `weights` where missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_weights: Option<Vec<f64>>,
    /// Mean and standard deviation, over the photos of the fit, of the largest scaled logit.
    pub best: [f64; 2],
    /// The same for the radius.
    pub radius: [f64; 2],
}

/// The two numbers of a photo that do not depend on the node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// Largest logit of a label, times the scale of the calibration.
    pub best: f64,
    /// Radius of the embedding.
    pub radius: f64,
}

impl Evidence {
    /// Inputs of the model for a node: log-odds of the softmax share at or below it, 1, the bits that
    /// its labels leave open (`log2` of their number, in tens), and both numbers of the photo in
    /// standard deviations; then the open bits times the log-odds, times themselves, and times each of
    /// both numbers, since a nearest label that is far speaks against that label more than against what
    /// lies above it.
    #[must_use]
    pub fn inputs(&self, share: f64, labels_below: usize, seen: Seen) -> [f64; INPUTS] {
        let share = share.clamp(LEAST_SHARE, 1.0 - LEAST_SHARE);
        let standard = |value: f64, [mean, deviation]: [f64; 2]| (value - mean) / deviation;
        let odds = (share / (1.0 - share)).ln();
        let open = (labels_below.max(1) as f64).log2() / 10.0;
        let best = standard(seen.best, self.best);
        let radius = standard(seen.radius, self.radius);
        [
            odds,
            1.0,
            open,
            best,
            radius,
            open * odds,
            open * open,
            open * best,
            open * radius,
        ]
    }

    /// Probability that a photo of a label shows a node; in `(0, 1)`.
    #[must_use]
    pub fn probability(&self, share: f64, labels_below: usize, seen: Seen) -> f64 {
        logistic(&self.inputs(share, labels_below, seen), &self.weights)
    }

    /// The same of a photo that may show no label at all: a path goes on where this reaches the
    /// threshold.
    #[must_use]
    pub fn support(&self, share: f64, labels_below: usize, seen: Seen) -> f64 {
        let weights = self.stop_weights.as_ref().unwrap_or(&self.weights);
        logistic(&self.inputs(share, labels_below, seen), weights)
    }

    /// What makes no sense, if anything.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let sound = |weights: &Vec<f64>| {
            weights.len() <= INPUTS
                && weights.iter().all(|w| w.is_finite())
                && weights.first().is_some_and(|w| *w > 0.0)
        };
        let spread = |[mean, deviation]: [f64; 2]| mean.is_finite() && deviation > 0.0;
        if sound(&self.weights)
            && self.stop_weights.as_ref().is_none_or(sound)
            && spread(self.best)
            && spread(self.radius)
        {
            return None;
        }
        Some(format!(
            "expected evidence with 1 to {INPUTS} finite weights, the first above 0, and deviations \
             above 0, found {self:?}"
        ))
    }
}

fn logistic(inputs: &[f64], weights: &[f64]) -> f64 {
    let sum: f64 = inputs.iter().zip(weights).map(|(x, w)| x * w).sum();
    1.0 / (1.0 + (-sum).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence() -> Evidence {
        Evidence {
            weights: vec![1.0, 0.0, 0.5, 1.0, 0.0],
            stop_weights: None,
            best: [10.0, 2.0],
            radius: [1.0, 0.5],
        }
    }

    fn seen(best: f64) -> Seen {
        Seen { best, radius: 1.0 }
    }

    #[test]
    fn an_ordinary_photo_of_one_label_keeps_its_share() {
        let found = evidence().probability(0.8, 1, seen(10.0));
        assert!((found - 0.8).abs() < 1e-12, "{found}");
    }

    #[test]
    fn a_photo_that_nothing_is_near_is_less_likely_to_show_the_node() {
        let model = evidence();
        // Two deviations below the mean: log-odds are less by 2.
        let expected = 1.0 / (1.0 + (-(4.0_f64.ln() - 2.0)).exp());
        assert!((model.probability(0.8, 1, seen(6.0)) - expected).abs() < 1e-12);
        assert!(model.probability(0.8, 64, seen(6.0)) > model.probability(0.8, 1, seen(6.0)));
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        assert_eq!(evidence().fault(), None);
        let flat = Evidence {
            best: [1.0, 0.0],
            ..evidence()
        };
        assert!(
            flat.fault()
                .is_some_and(|fault| fault.contains("deviations above 0"))
        );
    }
}
