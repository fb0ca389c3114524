//! Instructions of WebAssembly.

use std::arch::wasm32::*;

use super::dots::Dots;
use crate::panel::PANEL;
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
    /// Sums of the first and the last two inputs of two columns each.
    type Sums = [v128; 4];
    const COLUMNS: usize = 8;
    /// Engines spill the registers of more rows.
    const ROWS: usize = 2;

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
    fn add(
        self,
        sums: Self::Sums,
        inputs: Self::Inputs,
        weights: &Quads<i8>,
        first: usize,
    ) -> Self::Sums {
        let (low, high) = (four(weights, first), four(weights, first + 4));
        let weights = [
            i16x8_extend_low_i8x16(low),
            i16x8_extend_high_i8x16(low),
            i16x8_extend_low_i8x16(high),
            i16x8_extend_high_i8x16(high),
        ];
        std::array::from_fn(|pair| {
            i32x4_add(sums[pair], i32x4_dot_i16x8(inputs[pair], weights[pair]))
        })
    }

    #[inline(always)]
    fn finish(self, sums: Self::Sums) -> [i32; PANEL] {
        let mut all = [0; PANEL];
        for (pair, sum) in sums.into_iter().enumerate() {
            all[2 * pair] = i32x4_extract_lane::<0>(sum) + i32x4_extract_lane::<1>(sum);
            all[2 * pair + 1] = i32x4_extract_lane::<2>(sum) + i32x4_extract_lane::<3>(sum);
        }
        all
    }
}
