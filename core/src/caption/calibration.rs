//! Calibration: turns scores into probabilities that match observed frequencies.

use serde::{Deserialize, Serialize};

use super::evidence::Evidence;
use super::files;
use crate::bundle::BundleFiles;
use crate::error::{CoreError, Result};

/// Calibration parameters, fitted on images held out from training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Logits (cosine or minus distance) are multiplied by this before the softmax.
    pub scale: f64,
    /// The path stops at the deepest node with at least this probability.
    pub threshold: f64,
    /// The same for the first informative node of a path; `threshold` if absent. A general answer is
    /// worth more than none, so it may be less certain than a specific one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_threshold: Option<f64>,
    /// Factor on the log-odds of the nodes at each depth of the taxonomy, starting with the root; 1
    /// for depths that are not listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<f64>,
    /// Radii between which the confidence grows. Images unlike the training data lie near the root:
    /// below the first radius the confidence is 0, above the second it is unchanged, and between
    /// them it is scaled linearly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub radii: Option<[f64; 2]>,
    /// Logistic model of a node's probability; if present, it replaces `levels` and `radii`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
}

impl Calibration {
    /// Returns one scale for all depths, and a stop at the deepest node with a probability of at
    /// least 0.5.
    #[must_use]
    pub fn of_scale(scale: f64) -> Self {
        Self {
            scale,
            threshold: 0.5,
            first_threshold: None,
            levels: Vec::new(),
            radii: None,
            evidence: None,
        }
    }

    /// Reads the calibration of a bundle.
    ///
    /// # Errors
    /// [`CoreError::Bundle`] when the file is missing or holds something else.
    pub fn read(bundle: &BundleFiles) -> Result<Self> {
        let expected = "expected `scale`, `threshold` and perhaps `levels` and `radii`";
        serde_json::from_str(bundle.text(files::CALIBRATION)?)
            .map_err(|e| CoreError::bundle(files::CALIBRATION, format!("{expected}: {e}")))
    }

    /// Returns the description of the first invalid value, if any.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let positive = |v: &f64| v.is_finite() && *v > 0.0;
        if !positive(&self.scale) || !(0.0..=1.0).contains(&self.threshold) {
            return Some(format!(
                "expected scale > 0 and a threshold in [0, 1], found {} and {}",
                self.scale, self.threshold
            ));
        }
        if let Some(first) = self.first_threshold
            && !(0.0..=self.threshold).contains(&first)
        {
            return Some(format!(
                "expected a first_threshold between 0 and the threshold {}, found {first}",
                self.threshold
            ));
        }
        if let Some(fault) = self.evidence.as_ref().and_then(Evidence::fault) {
            return Some(fault);
        }
        if let Some([least, ordinary]) = self.radii
            && !(least >= 0.0 && ordinary > least && ordinary.is_finite())
        {
            return Some(format!(
                "expected two radii, the second larger, found {least} and {ordinary}"
            ));
        }
        let at = self.levels.iter().position(|v| !positive(v))?;
        Some(format!(
            "expected numbers above 0 in levels, found {} for depth {at}",
            self.levels[at]
        ))
    }

    /// Returns the probability of a node at some depth, from the share of the softmax at or below
    /// it.
    pub(super) fn at_depth(&self, depth: u32, share: f32) -> f32 {
        let Some(slope) = self.levels.get(depth as usize) else {
            return share;
        };
        sharpen(f64::from(share), *slope) as f32
    }

    /// Returns the factor on the confidence of an image with this radius, in `[0, 1]`.
    pub(super) fn known(&self, radius: f64) -> f32 {
        let share = |[least, ordinary]: [f64; 2]| (radius - least) / (ordinary - least);
        self.radii.map_or(1.0, share).clamp(0.0, 1.0) as f32
    }
}

/// Multiplies the log-odds of a probability by `slope`; 0 and 1 are unchanged.
fn sharpen(p: f64, slope: f64) -> f64 {
    let (yes, no) = (p.powf(slope), (1.0 - p).max(0.0).powf(slope));
    if yes + no > 0.0 { yes / (yes + no) } else { p }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_odds_are_multiplied() {
        // Odds of 4 to 1 become 2 to 1 and 16 to 1.
        assert!((sharpen(0.8, 0.5) - 2.0 / 3.0).abs() < 1e-12);
        assert!((sharpen(0.8, 2.0) - 16.0 / 17.0).abs() < 1e-12);
        assert_eq!((sharpen(0.0, 0.3), sharpen(1.0, 3.0)), (0.0, 1.0));
        // The smaller power is 0, and then both are.
        assert_eq!((sharpen(0.9, 400.0), sharpen(0.5, 5_000.0)), (1.0, 0.5));
    }

    #[test]
    fn depths_without_a_level_keep_their_share() {
        let calibration = Calibration {
            levels: vec![1.0, 2.0],
            ..Calibration::of_scale(3.0)
        };
        assert!((calibration.at_depth(1, 0.8) - 16.0 / 17.0).abs() < 1e-6);
        assert_eq!(calibration.at_depth(2, 0.8), 0.8);
    }

    #[test]
    fn a_photo_near_the_root_is_not_known() {
        let calibration = Calibration {
            radii: Some([1.0, 3.0]),
            ..Calibration::of_scale(3.0)
        };
        let known = [0.5, 1.5, 3.0, 9.0].map(|radius| calibration.known(radius));
        assert_eq!(known, [0.0, 0.25, 1.0, 1.0]);
        assert_eq!(Calibration::of_scale(3.0).known(0.0), 1.0);
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        type Change = fn(&mut Calibration);
        let changes: [(Change, &str); 4] = [
            (|c| c.radii = Some([3.0, 1.0]), "found 3 and 1"),
            (|c| c.radii = Some([1.0, 1.0]), "found 1 and 1"),
            (|c| c.levels = vec![1.0, 0.0], "found 0 for depth 1"),
            (|c| c.scale = f64::NAN, "found NaN and 0.5"),
        ];
        for (change, found) in changes {
            let mut calibration = Calibration::of_scale(3.0);
            change(&mut calibration);
            let fault = calibration.fault().unwrap_or_default();
            assert!(fault.ends_with(found), "{fault}");
        }
        assert_eq!(Calibration::of_scale(1.0).fault(), None);
    }
}
