//! Instructions of WebAssembly.

use std::arch::wasm32::*;

use super::dots::Dots;
use crate::quads::{QUAD, Quads};

/// Products of 16-bit integers, with which the page is compiled.
#[derive(Clone, Copy)]
pub(super) struct Simd128;

/// Returns the bytes of four columns.
#[expect(unsafe_code, reason = "the instruction takes a pointer")]
#[inline(always)]
fn four<T>(quads: &Quads<T>, first: usize) -> v128 {
    const { assert!(size_of::<T>() == 1) };
    let quads = &quads.0[first..][..4];
    // SAFETY: they are 16 bytes.
    unsafe { v128_load(quads.as_ptr().cast()) }
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
    fn zero(self) -> Self::Sums {
        [i32x4_splat(0); 4]
    }

    #[inline(always)]
    fn same(self, inputs: [u8; QUAD]) -> Self::Inputs {
        [u16x8_extend_low_u8x16(i32x4_splat(i32::from_ne_bytes(inputs))); 4]
    }

    #[inline(always)]
    fn each(self, inputs: &Quads<u8>, first: usize) -> Self::Inputs {
        let (low, high) = (four(inputs, first), four(inputs, first + 4));
        [
            u16x8_extend_low_u8x16(low),
            u16x8_extend_high_u8x16(low),
            u16x8_extend_low_u8x16(high),
            u16x8_extend_high_u8x16(high),
        ]
    }

    #[inline(always)]
    fn weights(self, weights: &Quads<i8>, first: usize) -> Self::Weights {
        let (low, high) = (four(weights, first), four(weights, first + 4));
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

    #[inline(always)]
    fn finish(self, sums: Self::Sums) -> Self::Columns {
        let mut columns = [0; 8];
        for (two, sum) in columns.as_chunks_mut().0.iter_mut().zip(sums) {
            *two = [
                i32x4_extract_lane::<0>(sum) + i32x4_extract_lane::<1>(sum),
                i32x4_extract_lane::<2>(sum) + i32x4_extract_lane::<3>(sum),
            ];
        }
        columns
    }
}
