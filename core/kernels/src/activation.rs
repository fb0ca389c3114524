//! Non-linearities that are fused into the kernels.

use pulp::Simd;

/// Function applied to each output of a kernel. NaN stays NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// The identity.
    None,
    /// `max(x, 0)`
    Relu,
    /// `min(max(x, 0), 6)`
    Relu6,
}

impl Activation {
    /// Applies the function to every lane.
    #[inline(always)]
    pub(crate) fn apply<S: Simd>(self, simd: S, x: S::f32s) -> S::f32s {
        // Selections, because the minimum of NaN and a number differs between instruction sets.
        let relu = |x| {
            let zero = simd.splat_f32s(0.0);
            simd.select_f32s(simd.less_than_f32s(x, zero), zero, x)
        };
        match self {
            Self::None => x,
            Self::Relu => relu(x),
            Self::Relu6 => {
                let (x, six) = (relu(x), simd.splat_f32s(6.0));
                simd.select_f32s(simd.greater_than_f32s(x, six), six, x)
            }
        }
    }

    /// Applies the function to one value.
    #[inline(always)]
    pub fn apply_one(self, x: f32) -> f32 {
        self.apply(pulp::Scalar, x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rectified_values_keep_their_limits_and_nan_stays() {
        let relu6 = [-1.0, 0.0, 5.0, 7.0, f32::INFINITY].map(|x| Activation::Relu6.apply_one(x));
        assert_eq!(relu6, [0.0, 0.0, 5.0, 6.0, 6.0]);
        let relu = [-1.0, 0.0, 7.0, f32::INFINITY].map(|x| Activation::Relu.apply_one(x));
        assert_eq!(relu, [0.0, 0.0, 7.0, f32::INFINITY]);
        for activation in [Activation::None, Activation::Relu, Activation::Relu6] {
            assert!(activation.apply_one(f32::NAN).is_nan());
        }
    }
}
