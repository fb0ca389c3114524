//! Arguments of a product, and the rows of its output.

use super::weights::PackedWeights;
use crate::activation::Activation;

/// Input rows that are multiplied with the same weights before the next ones: their part of the
/// depth, 240 kB, stays in the second-level cache.
pub const ROW_BLOCK: usize = 240;

/// Rows that a product is written to.
pub(super) trait Target {
    /// Returns the number of rows.
    fn rows(&self) -> usize;

    /// Returns one of the rows; all have the same length.
    fn row(&mut self, index: usize) -> &mut [f32];
}

/// Rows one after the other, and their length.
pub(super) struct Lines<'a>(pub(super) &'a mut [f32], pub(super) usize);

impl Target for Lines<'_> {
    #[inline(always)]
    fn rows(&self) -> usize {
        self.0.len() / self.1
    }

    #[inline(always)]
    fn row(&mut self, index: usize) -> &mut [f32] {
        &mut self.0[index * self.1..][..self.1]
    }
}

/// A part of each row.
pub(super) struct Segments<'a>(pub(super) Vec<&'a mut [f32]>);

impl Target for Segments<'_> {
    #[inline(always)]
    fn rows(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn row(&mut self, index: usize) -> &mut [f32] {
        self.0[index]
    }
}

/// The arguments of [`PackedWeights::apply`].
#[derive(Clone, Copy)]
pub(super) struct Product<'a> {
    pub(super) weights: &'a PackedWeights,
    pub(super) input: &'a [f32],
    pub(super) skip: Option<&'a [f32]>,
    pub(super) activation: Activation,
}
