//! General texts lie nearer to the root than specific ones.
//!
//! The contrastive term does not constrain radii, and entailment cones near the root are so wide that
//! they constrain nothing either. These terms enforce the order of radii that ladders are read in.

use burn::tensor::Tensor;

/// By how much a specific text should lie farther from the root, as the logarithm of the ratio of
/// both radii: about a tenth farther.
pub const ORDER_MARGIN: f64 = 0.1;
/// By how much a text lies nearer to the root for each unit of generality, as the logarithm of the
/// ratio of both radii. Where each text above has e times as many nouns below, that is the margin.
const GENERALITY_SLOPE: f64 = ORDER_MARGIN;
/// Keeps the logarithm finite at the root itself.
const EPS: f64 = 1e-6;

/// `mean of max(0, margin + ln r(general) - ln r(specific))`, over pairs of a text and a more
/// specific one. Ratios, because nothing else keeps all texts from moving outwards together.
///
/// # Shapes
/// `general, specific [n, 1]` radii, at least 0 `-> [1]`
#[must_use]
pub fn radial_order(general: Tensor<2>, specific: Tensor<2>, margin: f64) -> Tensor<1> {
    let ln = |radii: Tensor<2>| radii.clamp_min(EPS).log();
    (ln(general) - ln(specific) + margin).clamp_min(0.0).mean()
}

/// Variance of `ln r + 0.1 generality`: 0 where radii fall with generality by one rule, whatever the
/// radius of the least general text.
///
/// # Shapes
/// `radii, generality [n, 1] -> [1]`; radii at least 0
#[must_use]
pub fn radial_generality(radii: Tensor<2>, generality: Tensor<2>) -> Tensor<1> {
    let level = radii.clamp_min(EPS).log() + generality * GENERALITY_SLOPE;
    (level.clone() - level.mean_dim(0)).square().mean()
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::{Device, TensorData};

    fn radii(values: [f32; 3]) -> Tensor<2> {
        let device = Device::default();
        Tensor::from_data(TensorData::new(values.to_vec(), [3, 1]), &device)
    }

    #[test]
    fn pairs_in_order_cost_nothing_and_others_what_they_lack() {
        let general = radii([1.0, 2.0, 0.0]);
        // Far enough, out of order by a factor of 2, at the root both.
        let specific = radii([1.2, 1.0, 0.0]);
        let loss: f32 = radial_order(general, specific, 0.1).into_scalar();
        let expected = (0.0 + (2.0_f32.ln() + 0.1) + 0.1) / 3.0;
        assert!((loss - expected).abs() < 1e-6, "{loss}, {expected}");
    }

    #[test]
    fn scale_changes_nothing() {
        let (general, specific) = (radii([1.0, 2.0, 3.0]), radii([1.05, 1.0, 9.0]));
        let of = |a, b| -> f32 { radial_order(a, b, 0.1).into_scalar() };
        let once = of(general.clone(), specific.clone());
        assert!((once - of(general * 7.0, specific * 7.0)).abs() < 1e-6);
    }

    #[test]
    fn radii_that_fall_with_generality_cost_nothing() {
        let generality = radii([0.0, 1.0, 3.0]);
        let of = |values| {
            let found = radial_generality(radii(values), generality.clone());
            found.into_scalar::<f32>()
        };
        let at = |g: f32| 0.7 * (-0.1 * g).exp();
        assert!(of([at(0.0), at(1.0), at(3.0)]) < 1e-12);
        let levels = [0.0_f32, 0.1, 0.3];
        let mean = levels.iter().sum::<f32>() / 3.0;
        let variance = levels.iter().map(|l| (l - mean).powi(2)).sum::<f32>() / 3.0;
        assert!((of([1.0, 1.0, 1.0]) - variance).abs() < 1e-6);
    }
}
