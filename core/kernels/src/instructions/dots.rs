//! Products of bytes, as every instruction set computes them.

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
