//! Vectors of the instruction set in use, loaded from slices and stored in them.

use pulp::Simd;

/// Loads vectors; lanes beyond the end of the values are zero.
#[inline(always)]
pub fn load<S: Simd, const N: usize>(simd: S, values: &[f32]) -> [S::f32s; N] {
    // Most vectors are whole.
    if let Some(vectors) = S::as_simd_f32s(values).0.first_chunk() {
        return *vectors;
    }
    load_partial(simd, values)
}

/// Loads vectors of which some are partial. A function of its own where code is to be small.
#[cfg_attr(target_arch = "wasm32", inline(never))]
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
fn load_partial<S: Simd, const N: usize>(simd: S, values: &[f32]) -> [S::f32s; N] {
    let mut vectors = [simd.splat_f32s(0.0); N];
    for (vector, values) in vectors.iter_mut().zip(values.chunks(S::F32_LANES)) {
        *vector = simd.partial_load_f32s(values);
    }
    vectors
}

/// Stores the lanes of vectors that fit into the target.
#[inline(always)]
pub fn store<S: Simd, const N: usize>(simd: S, target: &mut [f32], vectors: [S::f32s; N]) {
    // Most vectors are whole.
    if let Some(target) = S::as_mut_simd_f32s(target).0.first_chunk_mut() {
        *target = vectors;
        return;
    }
    store_partial(simd, target, vectors);
}

/// Stores vectors of which some are partial. A function of its own where code is to be small.
#[cfg_attr(target_arch = "wasm32", inline(never))]
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
fn store_partial<S: Simd, const N: usize>(simd: S, target: &mut [f32], vectors: [S::f32s; N]) {
    for (vector, target) in vectors.into_iter().zip(target.chunks_mut(S::F32_LANES)) {
        simd.partial_store_f32s(target, vector);
    }
}
