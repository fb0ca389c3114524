//! Instructions of WebAssembly.

use std::arch::wasm32::*;

use super::dots::Dots;
use crate::quads::{QUAD, Quads};

/// Products of 16-bit integers, with which the page is compiled.
#[derive(Clone, Copy)]
pub(super) struct Simd128;

/// Returns the 16 bytes of some values.
#[expect(unsafe_code, reason = "the instruction takes a pointer")]
#[inline(always)]
pub(crate) fn load<T>(values: &[T]) -> v128 {
    assert!(size_of_val(values) == size_of::<v128>());
    // SAFETY: they are 16 bytes.
    unsafe { v128_load(values.as_ptr().cast()) }
}

/// Stores the 16 bytes of some values.
#[expect(unsafe_code, reason = "the instruction takes a pointer")]
#[inline(always)]
pub(crate) fn store<T>(bytes: v128, values: &mut [T]) {
    assert!(size_of_val(values) == size_of::<v128>());
    // SAFETY: they are 16 bytes.
    unsafe { v128_store(values.as_mut_ptr().cast(), bytes) }
}

/// Returns the bytes of eight columns.
#[inline(always)]
fn bytes<T>(quads: &Quads<T>, first: usize) -> [v128; 2] {
    let (low, high) = quads.0[first..][..8].split_at(4);
    [load(low), load(high)]
}

impl Dots for Simd128 {
    type Inputs = [v128; 4];
    type Weights = [v128; 4];
    /// Sums of the first and the last two inputs of two columns each.
    type Sums = [v128; 4];
    type Columns = [i32; 8];
    const COLUMNS: usize = 8;
    /// Engines spill the registers of more rows.
    const ROWS: usize = 2;
    const PASSES: usize = 1;

    #[inline(always)]
    fn interleave(self, rows: [&[u8]; QUAD], quads: &mut [[u8; QUAD]]) {
        let lows =
            |a, b| i8x16_shuffle::<0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23>(a, b);
        let highs = |a, b| {
            i8x16_shuffle::<8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31>(a, b)
        };
        for (part, quads) in quads.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let [a, b, c, d] = rows.map(|row| load(&row[16 * part..][..16]));
            let pairs = [[lows(a, b), lows(c, d)], [highs(a, b), highs(c, d)]];
            let all = pairs.map(|[ab, cd]| {
                [
                    i16x8_shuffle::<0, 8, 1, 9, 2, 10, 3, 11>(ab, cd),
                    i16x8_shuffle::<4, 12, 5, 13, 6, 14, 7, 15>(ab, cd),
                ]
            });
            for (quads, bytes) in quads.chunks_exact_mut(4).zip(all.as_flattened()) {
                store(*bytes, quads);
            }
        }
    }

    #[inline(always)]
    fn zero(self) -> Self::Sums {
        [i32x4_splat(0); 4]
    }

    #[inline(always)]
    fn same(self, inputs: [u8; QUAD]) -> Self::Inputs {
        [u16x8_extend_low_u8x16(i32x4_splat(i32::from_ne_bytes(inputs))); 4]
    }

    #[inline(always)]
    fn each(self, inputs: &Quads<u8>, first: usize) -> Self::Inputs {
        let [low, high] = bytes(inputs, first);
        [
            u16x8_extend_low_u8x16(low),
            u16x8_extend_high_u8x16(low),
            u16x8_extend_low_u8x16(high),
            u16x8_extend_high_u8x16(high),
        ]
    }

    #[inline(always)]
    fn weights(self, weights: &Quads<i8>, first: usize) -> Self::Weights {
        let [low, high] = bytes(weights, first);
        [
            i16x8_extend_low_i8x16(low),
            i16x8_extend_high_i8x16(low),
            i16x8_extend_low_i8x16(high),
            i16x8_extend_high_i8x16(high),
        ]
    }

    #[inline(always)]
    fn of_pass(self, _: usize, low_high: [&Quads<i8>; 2], first: usize) -> Self::Weights {
        let [low, high] = low_high.map(|weights| self.weights(weights, first));
        std::array::from_fn(|pair| i16x8_add(low[pair], i16x8_shl(high[pair], 8)))
    }

    #[inline(always)]
    fn add(self, sums: Self::Sums, inputs: Self::Inputs, weights: Self::Weights) -> Self::Sums {
        std::array::from_fn(|pair| {
            i32x4_add(sums[pair], i32x4_dot_i16x8(inputs[pair], weights[pair]))
        })
    }

    #[expect(unsafe_code, reason = "vectors become an array of the same bytes")]
    #[inline(always)]
    fn finish(self, sums: Self::Sums) -> Self::Columns {
        // Each pair of vectors has the halves of four sums in turn.
        let [a, b, c, d] = sums;
        let columns = [[a, b], [c, d]].map(|[a, b]| {
            i32x4_add(
                i32x4_shuffle::<0, 2, 4, 6>(a, b),
                i32x4_shuffle::<1, 3, 5, 7>(a, b),
            )
        });
        // SAFETY: both types have 32 bytes of integers.
        unsafe { std::mem::transmute::<[v128; 2], Self::Columns>(columns) }
    }
}
