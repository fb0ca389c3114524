//! Bytes in the order in which instructions multiply them.

use super::panel::PANEL;

/// Products that one instruction adds to a sum.
pub(crate) const QUAD: usize = 4;

/// Largest absolute value of narrow weights: the sum of two of their products with bytes fits into 16
/// bits.
pub(crate) const NARROW: i8 = 63;

/// Four values for each column of a panel, in cache lines of their own.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Quads<T>(pub(crate) [[T; QUAD]; PANEL]);

impl<T: Copy + Default> Default for Quads<T> {
    fn default() -> Self {
        Self([[T::default(); QUAD]; PANEL])
    }
}

/// Returns whether all weights lie within [`NARROW`].
pub(crate) fn are_narrow(quads: &[Quads<i8>]) -> bool {
    let mut weights = quads.iter().flat_map(|row| row.0.as_flattened());
    weights.all(|weight| weight.unsigned_abs() <= NARROW.unsigned_abs())
}
