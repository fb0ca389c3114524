//! How likely a node of the taxonomy is, from all that a photo's embedding shows.
//!
//! A softmax knows only which label is nearest, not whether anything is near: a blurred photo, or one
//! of a thing that is no label, gets shares as large as a clear one. Two more numbers tell them apart,
//! the logit of the nearest label (Hendrycks et al. 2022, "Scaling Out-of-Distribution Detection for
//! Real-World Settings") and the radius of the embedding. With the share at or below a node and how
//! specific the node is they make a logistic model (Platt 1999), fitted on photos, corrupted ones
//! among them.

use serde::{Deserialize, Serialize};

/// Shares closer to 0 or 1 than this count as that far from it.
const LEAST_SHARE: f64 = 1e-5;

/// Number of weights of [`Evidence`].
pub const INPUTS: usize = 5;

/// A logistic model of whether a photo shows a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Weights of the inputs in the order of [`Evidence::inputs`].
    pub weights: [f64; INPUTS],
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
    /// standard deviations.
    #[must_use]
    pub fn inputs(&self, share: f64, labels_below: usize, seen: Seen) -> [f64; INPUTS] {
        let share = share.clamp(LEAST_SHARE, 1.0 - LEAST_SHARE);
        let standard = |value: f64, [mean, deviation]: [f64; 2]| (value - mean) / deviation;
        [
            (share / (1.0 - share)).ln(),
            1.0,
            (labels_below.max(1) as f64).log2() / 10.0,
            standard(seen.best, self.best),
            standard(seen.radius, self.radius),
        ]
    }

    /// Probability that a photo shows a node; in `(0, 1)`.
    #[must_use]
    pub fn probability(&self, share: f64, labels_below: usize, seen: Seen) -> f64 {
        let inputs = self.inputs(share, labels_below, seen);
        let sum: f64 = inputs.iter().zip(self.weights).map(|(x, w)| x * w).sum();
        1.0 / (1.0 + (-sum).exp())
    }

    /// What makes no sense, if anything.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let finite = self.weights.iter().all(|w| w.is_finite());
        let spread = |[mean, deviation]: [f64; 2]| mean.is_finite() && deviation > 0.0;
        if finite && spread(self.best) && spread(self.radius) && self.weights[0] > 0.0 {
            return None;
        }
        Some(format!(
            "expected evidence with finite weights, the first above 0, and deviations above 0, found \
             {self:?}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence() -> Evidence {
        Evidence {
            weights: [1.0, 0.0, 0.5, 1.0, 0.0],
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
