//! Vectors of the instruction set in use, loaded from slices and stored in them.

use pulp::Simd;

/// Loads a vector; lanes beyond the end of the values are zero.
#[inline(always)]
pub fn load<S: Simd>(simd: S, values: &[f32]) -> S::f32s {
    match S::as_simd_f32s(values) {
        ([vector, ..], _) => *vector,
        (_, part) => simd.partial_load_f32s(part),
    }
}

/// Stores the lanes of a vector that fit into the target.
#[inline(always)]
pub fn store<S: Simd>(simd: S, target: &mut [f32], vector: S::f32s) {
    match S::as_mut_simd_f32s(target) {
        ([target, ..], _) => *target = vector,
        (_, part) => simd.partial_store_f32s(part, vector),
    }
}
