//! Non-linearities that are fused into the kernels.

use pulp::Simd;

/// Function applied to each output of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// The identity.
    None,
    /// `min(max(x, 0), 6)`; NaN stays NaN.
    Relu6,
}

impl Activation {
    /// Applies the function to every lane.
    #[inline(always)]
    pub(super) fn apply<S: Simd>(self, simd: S, x: S::f32s) -> S::f32s {
        match self {
            Self::None => x,
            Self::Relu6 => {
                // Selections, because the minimum of NaN and 6 differs between instruction sets.
                let (zero, six) = (simd.splat_f32s(0.0), simd.splat_f32s(6.0));
                let x = simd.select_f32s(simd.less_than_f32s(x, zero), zero, x);
                simd.select_f32s(simd.greater_than_f32s(x, six), six, x)
            }
        }
    }

    /// Applies the function to one value.
    #[inline(always)]
    pub(super) fn apply_one(self, x: f32) -> f32 {
        match self {
            Self::None => x,
            Self::Relu6 if x < 0.0 => 0.0,
            Self::Relu6 if x > 6.0 => 6.0,
            Self::Relu6 => x,
        }
    }
}
