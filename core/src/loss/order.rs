//! Losses that place general texts nearer to the root than specific ones.
//!
//! The contrastive term does not constrain radii, and entailment cones near the root are so wide
//! that they do not either. These losses enforce the order of radii that a ladder follows.

use burn::tensor::Tensor;

/// Margin by which a specific text should be farther from the root, as the logarithm of the ratio
/// of the two radii: about a tenth farther.
pub const ORDER_MARGIN: f64 = 0.1;
/// Decrease of the logarithm of the radius per unit of generality. If each text has e times as many
/// nouns below it as the next more specific one, this equals the margin.
const GENERALITY_SLOPE: f64 = ORDER_MARGIN;
/// Smallest radius, so that the logarithm is finite at the root.
const EPS: f64 = 1e-6;

/// Computes the mean of `max(0, margin + ln r(general) - ln r(specific))` over pairs of a text and
/// a more specific one. It compares ratios of radii because no other term keeps all texts from
/// moving outwards together.
///
/// # Shapes
/// `general, specific [n, 1]` radii, at least 0 `-> [1]`
#[must_use]
pub fn radial_order(general: Tensor<2>, specific: Tensor<2>, margin: f64) -> Tensor<1> {
    let ln = |radii: Tensor<2>| radii.clamp_min(EPS).log();
    (ln(general) - ln(specific) + margin).clamp_min(0.0).mean()
}

/// Computes the variance of `ln r + 0.1 generality`. It is 0 if radii decrease with generality by
/// one rule, whatever the radius of the least general text.
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
        // Far enough; in the wrong order by a factor of 2; both at the root.
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
