//! Products of bytes without special instructions.

use super::dots::{Dots, bytes_in_memory};
use crate::quads::{QUAD, Quads};
use crate::scratch::Scratch;

/// Plain code, which compilers vectorise where they can.
#[derive(Clone, Copy)]
pub(super) struct Portable;

impl Portable {
    /// Returns the same four inputs for every column.
    #[inline(always)]
    fn same(self, inputs: [u8; QUAD]) -> [[u8; QUAD]; 8] {
        [inputs; 8]
    }
}

impl Dots for Portable {
    bytes_in_memory!();
    type Inputs = [[u8; QUAD]; 8];
    type Weights = [[i8; QUAD]; 8];
    type Sums = [i32; 8];
    type Columns = [i32; 8];
    const COLUMNS: usize = 8;
    const ROWS: usize = 2;

    #[inline(always)]
    fn zero(self) -> Self::Sums {
        [0; 8]
    }

    #[inline(always)]
    fn each(self, inputs: &Quads<u8>, first: usize) -> Self::Inputs {
        std::array::from_fn(|column| inputs.0[first + column])
    }

    #[inline(always)]
    fn weights(self, weights: &Quads<i8>, first: usize) -> Self::Weights {
        std::array::from_fn(|column| weights.0[first + column])
    }

    #[inline(always)]
    fn add(self, mut sums: Self::Sums, inputs: Self::Inputs, weights: Self::Weights) -> Self::Sums {
        for ((sum, inputs), weights) in sums.iter_mut().zip(&inputs).zip(&weights) {
            for (input, weight) in inputs.iter().zip(weights) {
                *sum += i32::from(*input) * i32::from(*weight);
            }
        }
        sums
    }

    #[inline(always)]
    fn times_256(self, sums: Self::Sums) -> Self::Sums {
        sums.map(|sum| sum << 8)
    }

    #[inline(always)]
    fn finish(self, sums: Self::Sums) -> Self::Columns {
        sums
    }
}
