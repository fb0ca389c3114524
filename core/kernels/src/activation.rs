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
    /// Applies the function to every lane of vectors.
    #[inline(always)]
    pub(crate) fn apply<S: Simd, const N: usize>(self, simd: S, vectors: &mut [S::f32s; N]) {
        if self != Self::None {
            for x in &mut *vectors {
                *x = at_least_zero(simd, *x);
            }
        }
        if self == Self::Relu6 {
            for x in vectors {
                *x = at_most_six(simd, *x);
            }
        }
    }

    /// Applies the function to one value.
    #[inline(always)]
    pub fn apply_one(self, mut x: f32) -> f32 {
        self.apply(pulp::Scalar, std::array::from_mut(&mut x));
        x
    }
}

/// Computes `max(x, 0)`.
#[inline(always)]
fn at_least_zero<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let zero = simd.splat_f32s(0.0);
    if has_wide_vectors::<S>() {
        simd.max_f32s(zero, x)
    } else {
        simd.select_f32s(simd.less_than_f32s(x, zero), zero, x)
    }
}

/// Computes `min(x, 6)`.
#[inline(always)]
fn at_most_six<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let six = simd.splat_f32s(6.0);
    if has_wide_vectors::<S>() {
        simd.min_f32s(six, x)
    } else {
        simd.select_f32s(simd.greater_than_f32s(x, six), six, x)
    }
}

/// Returns whether the vectors are those of AVX or AVX-512, whose minimum and maximum return their
/// second argument if one is NaN. On other processors they differ, so values are selected by a
/// comparison there.
#[inline(always)]
const fn has_wide_vectors<S: Simd>() -> bool {
    S::F32_LANES >= 8
}

#[cfg(test)]
mod tests {
    use pulp::{Arch, WithSimd};

    use super::*;

    /// An activation and values that it replaces.
    struct Applied<'a>(Activation, &'a mut [f32]);

    impl WithSimd for Applied<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            for x in S::as_mut_simd_f32s(self.1).0 {
                self.0.apply(simd, std::array::from_mut(x));
            }
        }
    }

    #[test]
    fn rectified_values_keep_their_limits_and_nan_stays() {
        let relu6 = [-1.0, 0.0, 5.0, 7.0, f32::INFINITY].map(|x| Activation::Relu6.apply_one(x));
        assert_eq!(relu6, [0.0, 0.0, 5.0, 6.0, 6.0]);
        let relu = [-1.0, 0.0, 7.0, f32::INFINITY].map(|x| Activation::Relu.apply_one(x));
        assert_eq!(relu, [0.0, 0.0, 7.0, f32::INFINITY]);
        for activation in [Activation::None, Activation::Relu, Activation::Relu6] {
            assert!(activation.apply_one(f32::NAN).is_nan());
            let mut values = [f32::NAN; 40];
            Arch::new().dispatch(Applied(activation, &mut values));
            assert!(values.iter().all(|x| x.is_nan()), "{activation:?}");
        }
    }
}
