//! Probability of a taxonomy node given a photo's embedding.
//!
//! A softmax compares labels with each other; it does not show whether any label is near. A blurred
//! photo, or a photo of something outside the labels, gets shares as large as a clear one. Two
//! further inputs separate these cases: the logit of the nearest label (Hendrycks et al. 2022,
//! "Scaling Out-of-Distribution Detection for Real-World Settings") and the radius of the
//! embedding. Together with the share at or below a node and the specificity of the node, they are
//! the inputs of a logistic model (Platt 1999).
//!
//! The model has two sets of weights. The reported probability should be calibrated, so its weights
//! are fitted on photos of labels. The decision where a path stops should also hold for photos of
//! things outside the labels, so its weights are fitted on those photos as well: photos of labels
//! alone contain no example in which the nearest label is wrong because none is right.

use serde::{Deserialize, Serialize};

/// Shares are clamped to at least this distance from 0 and 1.
const LEAST_SHARE: f64 = 1e-5;

/// Number of inputs of [`Evidence`].
pub const INPUTS: usize = 9;

/// A logistic model of whether a photo shows a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Weights of the reported probability, at most [`INPUTS`], in the order of
    /// [`Evidence::inputs`]; missing weights are 0.
    pub weights: Vec<f64>,
    /// Weights of the decision where a path stops, in the same order; `weights` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_weights: Option<Vec<f64>>,
    /// Mean and standard deviation of the largest scaled logit over the photos of the fit.
    pub best: [f64; 2],
    /// The same for the radius.
    pub radius: [f64; 2],
}

/// The inputs that depend on the photo but not on the node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImageEvidence {
    /// Largest logit of a label, times the scale of the calibration.
    pub best: f64,
    /// Radius of the embedding.
    pub radius: f64,
}

impl Evidence {
    /// Returns the inputs of the model for a node: the log-odds of the softmax share at or below
    /// it; 1; the open bits (`log2` of the number of labels at or below the node, divided by 10);
    /// and both values of `seen`, standardised. Then the open bits times the log-odds, times
    /// themselves, and times each value of `seen`: if even the nearest label is far, this is
    /// stronger evidence against that label than against the nodes above it.
    #[must_use]
    pub fn inputs(&self, share: f64, labels_below: usize, seen: ImageEvidence) -> [f64; INPUTS] {
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

    /// Returns the probability that a photo of some label shows a node; in `(0, 1)`.
    #[must_use]
    pub fn probability(&self, share: f64, labels_below: usize, seen: ImageEvidence) -> f64 {
        logistic(&self.inputs(share, labels_below, seen), &self.weights)
    }

    /// Like [`probability`](Self::probability), for a photo that may show no label at all. A path
    /// continues while this reaches the threshold.
    #[must_use]
    pub fn support(&self, share: f64, labels_below: usize, seen: ImageEvidence) -> f64 {
        let weights = self.stop_weights.as_ref().unwrap_or(&self.weights);
        logistic(&self.inputs(share, labels_below, seen), weights)
    }

    /// Returns the description of an invalid value, if any.
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
             above 0, found {:?} and {:?}",
            self.weights,
            [self.best[1], self.radius[1]]
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

    fn seen(best: f64) -> ImageEvidence {
        ImageEvidence { best, radius: 1.0 }
    }

    #[test]
    fn inputs_are_those_of_the_formula() {
        let seen = ImageEvidence {
            radius: 1.75,
            ..seen(6.0)
        };
        let odds = 4.0_f64.ln();
        // Standardised: two deviations below the mean, one and a half above it.
        let (open, best, radius) = (0.6, -2.0, 1.5);
        let products = [odds, open, best, radius].map(|value| open * value);
        let expected = [&[odds, 1.0, open, best, radius][..], &products].concat();
        let found = evidence().inputs(0.8, 64, seen);
        for (found, expected) in found.iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        assert_eq!(found.len(), expected.len());
        // Shares of 0 and 1 have finite odds, as far from even.
        let [never, always] = [0.0, 1.0].map(|share| evidence().inputs(share, 64, seen)[0]);
        assert!(
            always > 10.0 && (always + never).abs() < 1e-3,
            "{never} {always}"
        );
    }

    #[test]
    fn what_supports_a_stop_has_its_own_weights() {
        let mut evidence = evidence();
        let p = evidence.probability(0.8, 1, seen(10.0));
        assert_eq!(evidence.support(0.8, 1, seen(10.0)), p);
        evidence.stop_weights = Some(vec![2.0]);
        assert_eq!(evidence.probability(0.8, 1, seen(10.0)), p);
        // Odds of 4 to 1 become 16 to 1.
        let support = evidence.support(0.8, 1, seen(10.0));
        assert!((support - 16.0 / 17.0).abs() < 1e-12, "{support}");
    }

    #[test]
    fn each_value_that_makes_no_sense_is_a_fault() {
        type Change = fn(&mut Evidence);
        assert_eq!(evidence().fault(), None);
        let changes: [Change; 13] = [
            |e| e.weights.clear(),
            |e| e.weights = vec![1.0; INPUTS + 1],
            |e| e.weights[2] = f64::NAN,
            |e| e.weights[0] = 0.0,
            |e| e.weights[0] = -1.0,
            |e| e.stop_weights = Some(Vec::new()),
            |e| e.stop_weights = Some(vec![1.0, f64::INFINITY]),
            |e| e.stop_weights = Some(vec![0.0]),
            |e| e.best = [f64::NAN, 1.0],
            |e| e.best[1] = 0.0,
            |e| e.radius = [f64::INFINITY, 1.0],
            |e| e.radius[1] = 0.0,
            |e| e.radius[1] = -1.0,
        ];
        for (index, change) in changes.into_iter().enumerate() {
            let mut changed = evidence();
            change(&mut changed);
            let fault = changed.fault().unwrap_or_default();
            assert!(fault.contains("deviations above 0"), "{index}: {fault}");
        }
    }

    #[test]
    fn an_ordinary_photo_of_one_label_keeps_its_share() {
        let found = evidence().probability(0.8, 1, seen(10.0));
        assert!((found - 0.8).abs() < 1e-12, "{found}");
    }

    #[test]
    fn a_photo_that_nothing_is_near_is_less_likely_to_show_the_node() {
        let model = evidence();
        // Two deviations below the mean lower the log-odds by 2.
        let expected = 1.0 / (1.0 + (-(4.0_f64.ln() - 2.0)).exp());
        assert!((model.probability(0.8, 1, seen(6.0)) - expected).abs() < 1e-12);
        assert!(model.probability(0.8, 64, seen(6.0)) > model.probability(0.8, 1, seen(6.0)));
    }
}
