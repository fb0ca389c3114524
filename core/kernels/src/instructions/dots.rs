//! Products of bytes, as every instruction set computes them.

use crate::quads::{QUAD, Quads};
use crate::scratch::{Kept, Scratch};

/// Work that is compiled for each instruction set.
pub(crate) trait Work {
    /// Does the work.
    fn run<D: Dots>(self, dots: D);
}

/// Defines products whose inputs and weights stay bytes in memory; `same` returns the same four inputs for
/// every column.
#[cfg(any(test, not(target_feature = "simd128")))]
macro_rules! bytes_in_memory {
    () => {
        type Quad = [u8; QUAD];
        type Row = Quads<i8>;

        #[inline(always)]
        fn quads<'a>(
            self,
            inputs: &'a [[u8; QUAD]],
            _: &'a mut Scratch<Self::Quad>,
        ) -> &'a [Self::Quad] {
            inputs
        }

        #[inline(always)]
        fn rows<'a>(
            self,
            weights: &'a [Quads<i8>],
            _: usize,
            _: &'a mut Scratch<Self::Row>,
        ) -> &'a [Self::Row] {
            weights
        }

        #[inline(always)]
        fn add_products<const R: usize>(
            self,
            sums: &mut [Self::Sums; R],
            inputs: [&[Self::Quad]; R],
            weights: &[Self::Row],
            first: usize,
        ) {
            for (index, weights) in weights.iter().enumerate() {
                let weights = self.weights(weights, first);
                for (sums, inputs) in sums.iter_mut().zip(&inputs) {
                    *sums = self.add(*sums, self.same(inputs[index]), weights);
                }
            }
        }
    };
}

#[cfg(any(test, not(target_feature = "simd128")))]
pub(super) use bytes_in_memory;

/// Products of four inputs and four weights, added to 32-bit sums of several columns.
pub(crate) trait Dots: Copy {
    /// Four inputs of a product in memory.
    type Quad: Kept;
    /// Four weights of the columns of a tile of a product in memory.
    type Row: Kept;
    /// Four inputs for each of [`COLUMNS`](Self::COLUMNS) columns.
    type Inputs: Copy;
    /// Four weights for each column.
    type Weights: Copy;
    /// Sums of the columns, in an order of registers.
    type Sums: Copy;
    /// The sums, one for each column.
    type Columns: Copy + AsRef<[i32]>;
    /// Columns of a tile; a divisor of [`PANEL`](crate::panel::PANEL).
    const COLUMNS: usize;
    /// Most rows of a tile of a product, 2, 4, 6 or 8: its sums stay in the registers.
    const ROWS: usize;
    /// Most pixels of a tile of a convolution, 2, 4 or 8.
    const PIXELS: usize = Self::ROWS;
    /// Passes that weights of 16 bits take: 1 where [`Weights`](Self::Weights) have room for them.
    const PASSES: usize = 2;

    /// Puts the bytes of four rows side by side; their length is a multiple of 16.
    #[inline(always)]
    fn interleave(self, [a, b, c, d]: [&[u8]; QUAD], quads: &mut [[u8; QUAD]]) {
        for (channel, quad) in quads.iter_mut().enumerate() {
            *quad = [a[channel], b[channel], c[channel], d[channel]];
        }
    }

    /// Returns sums of zero.
    fn zero(self) -> Self::Sums;

    /// Returns inputs as the tiles of a product read them.
    fn quads<'a>(
        self,
        inputs: &'a [[u8; QUAD]],
        buffer: &'a mut Scratch<Self::Quad>,
    ) -> &'a [Self::Quad];

    /// Returns the weights of the columns from `first` on as the tiles of a product read them.
    fn rows<'a>(
        self,
        weights: &'a [Quads<i8>],
        first: usize,
        buffer: &'a mut Scratch<Self::Row>,
    ) -> &'a [Self::Row];

    /// Adds the products of rows of inputs with the rows of weights of [`rows`](Self::rows), which begin
    /// with column `first`; all have the same length.
    fn add_products<const R: usize>(
        self,
        sums: &mut [Self::Sums; R],
        inputs: [&[Self::Quad]; R],
        weights: &[Self::Row],
        first: usize,
    );

    /// Returns the inputs of the columns from `first` on.
    fn each(self, inputs: &Quads<u8>, first: usize) -> Self::Inputs;

    /// Returns the weights of the columns from `first` on.
    fn weights(self, weights: &Quads<i8>, first: usize) -> Self::Weights;

    /// Returns what one of the [`PASSES`](Self::PASSES) over the weights `256 high + low` multiplies; its
    /// sums count `256^pass` times.
    #[inline(always)]
    fn of_pass(self, pass: usize, low_high: [&Quads<i8>; 2], first: usize) -> Self::Weights {
        self.weights(low_high[pass], first)
    }

    /// Returns the sums times 256. Only two [`PASSES`](Self::PASSES) need it.
    #[inline(always)]
    fn times_256(self, sums: Self::Sums) -> Self::Sums {
        const { assert!(Self::PASSES == 1, "two passes need this function") };
        sums
    }

    /// Adds the products of inputs with weights.
    fn add(self, sums: Self::Sums, inputs: Self::Inputs, weights: Self::Weights) -> Self::Sums;

    /// Returns the sums of the columns.
    fn finish(self, sums: Self::Sums) -> Self::Columns;

    /// Returns the sums of the columns of several rows. The compiler unrolls this loop because it is short,
    /// so all sums stay in registers until here; `array::map` would copy them through memory.
    #[inline(always)]
    fn finish_all<const R: usize>(self, sums: &[Self::Sums; R]) -> [Self::Columns; R] {
        let mut finished = [self.finish(self.zero()); R];
        for (finished, sums) in finished.iter_mut().zip(sums) {
            *finished = self.finish(*sums);
        }
        finished
    }
}
