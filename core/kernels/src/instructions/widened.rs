//! Products of bytes that are widened to 16 bits. They are exact where the processor has no instruction
//! for bytes, or only one that saturates.

use super::dots::Dots;
use crate::quads::{QUAD, Quads};
use crate::scratch::{Kept, Scratch};

/// Instructions on vectors of 16-bit integers, the products of which are added in pairs.
pub(super) trait Pairs: Copy {
    /// Four bytes, two 16-bit integers or a sum for each of half of the columns.
    type Vector: Copy;
    /// Four vectors in memory.
    type Row: Kept;
    /// Sums of the columns.
    type Columns: Copy + AsRef<[i32]>;
    /// Columns of a tile: two vectors.
    const COLUMNS: usize;
    /// Most rows of a tile of a product.
    const ROWS: usize;
    /// Most pixels of a tile of a convolution.
    const PIXELS: usize;

    /// See [`Dots::interleave`].
    fn interleave(self, rows: [&[u8]; QUAD], quads: &mut [[u8; QUAD]]);

    /// Returns zeros.
    fn zero(self) -> Self::Vector;

    /// Returns the bytes of the first half of the columns.
    fn load<T>(self, quads: &[[T; QUAD]]) -> Self::Vector;

    /// Returns the same two integers for every column.
    fn same(self, pair: u32) -> Self::Vector;

    /// Returns the first and third of four unsigned bytes, and the second and fourth ones.
    fn unsigned(self, bytes: Self::Vector) -> [Self::Vector; 2];

    /// Returns the first and third of four signed bytes, and the second and fourth ones.
    fn signed(self, bytes: Self::Vector) -> [Self::Vector; 2];

    /// Returns `low + 256 high`.
    fn joined(self, low: Self::Vector, high: Self::Vector) -> Self::Vector;

    /// Adds the products of two pairs.
    fn add(self, sums: Self::Vector, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// Returns vectors as they lie in memory.
    fn row(self, vectors: [[Self::Vector; 2]; 2]) -> Self::Row;

    /// Returns the vectors of [`row`](Self::row).
    fn vectors(self, row: &Self::Row) -> [[Self::Vector; 2]; 2];

    /// Returns the sums of the columns.
    fn columns(self, sums: [Self::Vector; 2]) -> Self::Columns;
}

/// Products by instructions on pairs.
#[derive(Clone, Copy)]
pub(super) struct Widened<P>(pub(super) P);

// Arrays are written out: closures are not always compiled for the instructions of their caller.
impl<P: Pairs> Dots for Widened<P> {
    /// The first and third inputs, and the second and fourth ones, in 16 bits.
    type Quad = [u32; 2];
    type Row = P::Row;
    /// For each half of the columns the first and third values, and the second and fourth ones.
    type Inputs = [[P::Vector; 2]; 2];
    type Weights = [[P::Vector; 2]; 2];
    type Sums = [P::Vector; 2];
    type Columns = P::Columns;
    const COLUMNS: usize = P::COLUMNS;
    const ROWS: usize = P::ROWS;
    const PIXELS: usize = P::PIXELS;
    const PASSES: usize = 1;

    #[inline(always)]
    fn interleave(self, rows: [&[u8]; QUAD], quads: &mut [[u8; QUAD]]) {
        self.0.interleave(rows, quads);
    }

    #[inline(always)]
    fn quads<'a>(
        self,
        inputs: &'a [[u8; QUAD]],
        buffer: &'a mut Scratch<Self::Quad>,
    ) -> &'a [Self::Quad] {
        buffer.resize(inputs.len());
        for (pairs, quad) in buffer.iter_mut().zip(inputs) {
            let quad = u32::from_le_bytes(*quad);
            *pairs = [quad & 0x00ff_00ff, (quad >> 8) & 0x00ff_00ff];
        }
        buffer
    }

    #[inline(always)]
    fn rows<'a>(
        self,
        weights: &'a [Quads<i8>],
        first: usize,
        buffer: &'a mut Scratch<Self::Row>,
    ) -> &'a [Self::Row] {
        buffer.resize(weights.len());
        for (row, weights) in buffer.iter_mut().zip(weights) {
            *row = self.0.row(self.weights(weights, first));
        }
        buffer
    }

    #[inline(always)]
    fn add_products<const R: usize>(
        self,
        sums: &mut [Self::Sums; R],
        inputs: [&[Self::Quad]; R],
        weights: &[Self::Row],
        _: usize,
    ) {
        for (index, weights) in weights.iter().enumerate() {
            let [low, high] = self.0.vectors(weights);
            // The registers hold the weights of one half of the pairs at a time.
            for half in 0..2 {
                for (sums, inputs) in sums.iter_mut().zip(&inputs) {
                    let inputs = self.0.same(inputs[index][half]);
                    sums[0] = self.0.add(sums[0], inputs, low[half]);
                    sums[1] = self.0.add(sums[1], inputs, high[half]);
                }
            }
        }
    }

    #[inline(always)]
    fn zero(self) -> Self::Sums {
        [self.0.zero(); 2]
    }

    #[inline(always)]
    fn each(self, inputs: &Quads<u8>, first: usize) -> Self::Inputs {
        let (low, high) = inputs.0[first..][..P::COLUMNS].split_at(P::COLUMNS / 2);
        [
            self.0.unsigned(self.0.load(low)),
            self.0.unsigned(self.0.load(high)),
        ]
    }

    #[inline(always)]
    fn weights(self, weights: &Quads<i8>, first: usize) -> Self::Weights {
        let (low, high) = weights.0[first..][..P::COLUMNS].split_at(P::COLUMNS / 2);
        [
            self.0.signed(self.0.load(low)),
            self.0.signed(self.0.load(high)),
        ]
    }

    #[inline(always)]
    fn of_pass(self, _: usize, [low, high]: [&Quads<i8>; 2], first: usize) -> Self::Weights {
        let (mut joined, high) = (self.weights(low, first), self.weights(high, first));
        for (low, high) in joined
            .as_flattened_mut()
            .iter_mut()
            .zip(high.as_flattened())
        {
            *low = self.0.joined(*low, *high);
        }
        joined
    }

    #[inline(always)]
    fn add(self, sums: Self::Sums, inputs: Self::Inputs, weights: Self::Weights) -> Self::Sums {
        let low = self.0.add(sums[0], inputs[0][0], weights[0][0]);
        let high = self.0.add(sums[1], inputs[1][0], weights[1][0]);
        [
            self.0.add(low, inputs[0][1], weights[0][1]),
            self.0.add(high, inputs[1][1], weights[1][1]),
        ]
    }

    #[inline(always)]
    fn finish(self, sums: Self::Sums) -> Self::Columns {
        self.0.columns(sums)
    }
}
