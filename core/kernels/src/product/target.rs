//! Arguments of a product, and the rows of its output.

use crate::activation::Activation;

/// Input rows that are multiplied with the same weights before the next ones: their part of the
/// depth, 240 kB, stays in the second-level cache.
pub const ROW_BLOCK: usize = 240;

/// Rows that a product is written to.
pub(super) trait Target {
    /// Type of the values.
    type Value;

    /// Returns the number of rows.
    fn rows(&self) -> usize;

    /// Returns one of the rows; all have the same length.
    fn row(&mut self, index: usize) -> &mut [Self::Value];
}

/// Rows one after the other, and their length.
pub(super) struct Lines<'a, T>(pub(super) &'a mut [T], pub(super) usize);

impl<T> Target for Lines<'_, T> {
    type Value = T;

    #[inline(always)]
    fn rows(&self) -> usize {
        self.0.len() / self.1
    }

    #[inline(always)]
    fn row(&mut self, index: usize) -> &mut [T] {
        &mut self.0[index * self.1..][..self.1]
    }
}

/// A part of each row.
pub(super) struct Segments<'a, T>(pub(super) Vec<&'a mut [T]>);

impl<T> Target for Segments<'_, T> {
    type Value = T;

    #[inline(always)]
    fn rows(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn row(&mut self, index: usize) -> &mut [T] {
        self.0[index]
    }
}

/// The arguments of a product, with weights `W` and inputs `I`.
#[derive(Debug)]
pub(super) struct Product<'a, W, I> {
    pub(super) weights: &'a W,
    pub(super) input: &'a [I],
    pub(super) skip: Option<&'a [f32]>,
    pub(super) activation: Activation,
}

impl<W, I> Clone for Product<'_, W, I> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W, I> Copy for Product<'_, W, I> {}
