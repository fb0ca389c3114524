//! General texts lie nearer to the root than specific ones.
//!
//! The contrast orders by similarity and leaves radii free, and cones near the root are so wide that
//! they forbid nothing; so the order that ladders are read in is asked for by itself.

use burn::tensor::Tensor;

/// By how much a specific text should lie farther from the root, as the logarithm of the ratio of
/// both radii: about a tenth farther.
pub const ORDER_MARGIN: f64 = 0.1;
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
}
