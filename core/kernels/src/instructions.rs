//! Products of bytes by the instructions that the processor has.

#[cfg(target_feature = "simd128")]
mod wasm;
#[cfg(target_arch = "x86_64")]
#[expect(
    unsafe_code,
    reason = "instructions that not every processor has, and their loads"
)]
mod x86;

use crate::panel::PANEL;
use crate::quads::{QUAD, Quads};

/// Work that is compiled for each instruction set.
pub(crate) trait Work {
    /// Returns whether all weights lie within [`NARROW`](crate::quads::NARROW).
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "only AVX2 has instructions for narrow weights")
    )]
    fn is_narrow(&self) -> bool;

    /// Does the work.
    fn run<D: Dots>(self, dots: D);
}

/// Products of four inputs and four weights, added to 32-bit sums of several columns.
pub(crate) trait Dots: Copy {
    /// Four inputs for each of [`COLUMNS`](Self::COLUMNS) columns.
    type Inputs: Copy;
    /// Sums of the columns.
    type Sums: Copy;
    /// Columns of a tile; a divisor of [`PANEL`].
    const COLUMNS: usize;
    /// Most rows of a tile, 2, 4 or 8: its sums stay in the registers.
    const ROWS: usize;

    /// Returns sums of zero.
    fn zero(self) -> Self::Sums;

    /// Returns the same four inputs for every column.
    fn same(self, inputs: [u8; QUAD]) -> Self::Inputs;

    /// Returns the inputs of the columns from `first` on.
    fn each(self, inputs: &Quads<u8>, first: usize) -> Self::Inputs;

    /// Adds the products of inputs with the weights of the columns from `first` on.
    fn add(
        self,
        sums: Self::Sums,
        inputs: Self::Inputs,
        weights: &Quads<i8>,
        first: usize,
    ) -> Self::Sums;

    /// Returns the sums, followed by zeros.
    fn finish(self, sums: Self::Sums) -> [i32; PANEL];
}

/// An instruction set that the processor has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instructions(Set);

#[derive(Clone, Copy, Debug)]
enum Set {
    #[cfg(target_arch = "x86_64")]
    Avx512Vnni,
    #[cfg(target_arch = "x86_64")]
    AvxVnni,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_feature = "simd128")]
    Simd128,
    #[cfg(any(test, not(target_feature = "simd128")))]
    Portable,
}

impl Instructions {
    /// Returns all, the fastest first; there is at least one.
    pub(crate) fn available() -> impl Iterator<Item = Self> {
        let sets = [
            #[cfg(target_arch = "x86_64")]
            x86::has_avx512_vnni().then_some(Set::Avx512Vnni),
            #[cfg(target_arch = "x86_64")]
            x86::has_avx_vnni().then_some(Set::AvxVnni),
            #[cfg(target_arch = "x86_64")]
            x86::has_avx2().then_some(Set::Avx2),
            #[cfg(target_feature = "simd128")]
            Some(Set::Simd128),
            #[cfg(any(test, not(target_feature = "simd128")))]
            Some(Set::Portable),
        ];
        sets.into_iter().flatten().map(Self)
    }

    /// Does the work.
    #[cfg_attr(
        target_arch = "x86_64",
        expect(
            unsafe_code,
            reason = "calls functions for instructions that not all have"
        )
    )]
    #[inline(always)]
    pub(crate) fn run(self, work: impl Work) {
        match self.0 {
            // SAFETY: the processor has these instructions, else there would be no `self`.
            #[cfg(target_arch = "x86_64")]
            Set::Avx512Vnni => unsafe { x86::with_avx512_vnni(work) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Set::AvxVnni => unsafe { x86::with_avx_vnni(work) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 if work.is_narrow() => unsafe { x86::with_avx2_narrow(work) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => unsafe { x86::with_avx2(work) },
            #[cfg(target_feature = "simd128")]
            Set::Simd128 => work.run(wasm::Simd128),
            #[cfg(any(test, not(target_feature = "simd128")))]
            Set::Portable => work.run(Portable),
        }
    }
}

/// Plain code, which compilers vectorise where they can.
#[cfg(any(test, not(target_feature = "simd128")))]
#[derive(Clone, Copy)]
struct Portable;

#[cfg(any(test, not(target_feature = "simd128")))]
impl Dots for Portable {
    type Inputs = [[u8; QUAD]; 8];
    type Sums = [i32; 8];
    const COLUMNS: usize = 8;
    const ROWS: usize = 2;

    #[inline(always)]
    fn zero(self) -> Self::Sums {
        [0; 8]
    }

    #[inline(always)]
    fn same(self, inputs: [u8; QUAD]) -> Self::Inputs {
        [inputs; 8]
    }

    #[inline(always)]
    fn each(self, inputs: &Quads<u8>, first: usize) -> Self::Inputs {
        std::array::from_fn(|column| inputs.0[first + column])
    }

    #[inline(always)]
    fn add(
        self,
        mut sums: Self::Sums,
        inputs: Self::Inputs,
        weights: &Quads<i8>,
        first: usize,
    ) -> Self::Sums {
        let weights = &weights.0[first..first + 8];
        for ((sum, inputs), weights) in sums.iter_mut().zip(&inputs).zip(weights) {
            for (input, weight) in inputs.iter().zip(weights) {
                *sum += i32::from(*input) * i32::from(*weight);
            }
        }
        sums
    }

    #[inline(always)]
    fn finish(self, sums: Self::Sums) -> [i32; PANEL] {
        let mut all = [0; PANEL];
        all[..8].copy_from_slice(&sums);
        all
    }
}
