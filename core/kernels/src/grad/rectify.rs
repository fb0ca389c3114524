//! ReLU and ReLU6.

use pulp::Arch;

use super::pieces::{self, Start};

/// A rectifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rectifier {
    /// `max(x, 0)`. The gradient at 0 is 0.
    Relu,
    /// `min(max(x, 0), 6)`. The gradient at both bounds is 1.
    Relu6,
}

impl Rectifier {
    /// Returns the least and the largest value of the function.
    pub(super) fn bounds(self) -> [f32; 2] {
        match self {
            Self::Relu => [0.0, f32::INFINITY],
            Self::Relu6 => [0.0, 6.0],
        }
    }

    /// Returns the least and the largest input whose gradient is 1.
    pub(super) fn passing(self) -> [f32; 2] {
        match self {
            // The least number above 0.
            Self::Relu => [f32::from_bits(1), f32::INFINITY],
            Self::Relu6 => [0.0, 6.0],
        }
    }

    /// Computes the function of every value.
    #[must_use]
    pub fn forward(self, x: &[f32]) -> Vec<f32> {
        let (output, _) = pieces::compute(Start::Copy(x), pieces::MIN_VALUES, |_, values| {
            Arch::new().dispatch(
                #[inline(always)]
                || match self {
                    Self::Relu => values.iter_mut().for_each(|x| *x = above(*x)),
                    Self::Relu6 => values.iter_mut().for_each(|x| *x = below(above(*x))),
                },
            );
        });
        output
    }

    /// Computes the gradient of the input from that of the output.
    ///
    /// # Shapes
    /// `x [n]`, `grad [n] -> [n]`
    #[must_use]
    pub fn backward(self, x: &[f32], grad: &[f32]) -> Vec<f32> {
        let size = pieces::MIN_VALUES;
        let (output, _) = pieces::compute(Start::Copy(grad), size, |index, values| {
            let x = &x[index * size..];
            Arch::new().dispatch(
                #[inline(always)]
                || match self {
                    Self::Relu => keep(values, x, |x| x > 0.0),
                    Self::Relu6 => keep(values, x, |x| (0.0..=6.0).contains(&x)),
                },
            );
        });
        output
    }
}

/// Returns `max(x, 0)`; NaN stays NaN.
#[inline(always)]
fn above(x: f32) -> f32 {
    if x < 0.0 { 0.0 } else { x }
}

/// Returns `min(x, 6)`; NaN stays NaN.
#[inline(always)]
fn below(x: f32) -> f32 {
    if x > 6.0 { 6.0 } else { x }
}

/// Replaces the values by 0 where the input does not pass.
#[inline(always)]
fn keep(values: &mut [f32], x: &[f32], passes: impl Fn(f32) -> bool) {
    for (value, x) in values.iter_mut().zip(x) {
        *value = if passes(*x) { *value } else { 0.0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_gradients_are_those_of_the_definition() {
        let x = [-1.0, 0.0, 1.0, 6.0, 7.0];
        let grad = [1.0, 2.0, 3.0, 4.0, 5.0];
        assert_eq!(Rectifier::Relu.forward(&x), [0.0, 0.0, 1.0, 6.0, 7.0]);
        assert_eq!(Rectifier::Relu6.forward(&x), [0.0, 0.0, 1.0, 6.0, 6.0]);
        assert_eq!(
            Rectifier::Relu.backward(&x, &grad),
            [0.0, 0.0, 3.0, 4.0, 5.0]
        );
        assert_eq!(
            Rectifier::Relu6.backward(&x, &grad),
            [0.0, 2.0, 3.0, 4.0, 0.0]
        );
    }

    #[test]
    fn nan_stays_and_pieces_agree_with_the_whole() {
        assert!(Rectifier::Relu6.forward(&[f32::NAN])[0].is_nan());
        let x: Vec<f32> = (0..40_000).map(|i| (i % 11) as f32 - 2.0).collect();
        let expected: Vec<f32> = x.iter().map(|x| x.max(0.0)).collect();
        assert_eq!(Rectifier::Relu.forward(&x), expected);
        assert_eq!(Rectifier::Relu.backward(&x, &x), expected);
    }
}
