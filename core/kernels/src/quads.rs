//! Bytes in the order in which instructions multiply them.

use super::panel::PANEL;

/// Products that one instruction adds to a sum.
pub(crate) const QUAD: usize = 4;

/// Four values for each column of a panel, in cache lines of their own.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Quads<T>(pub(crate) [[T; QUAD]; PANEL]);

impl<T: Copy + Default> Default for Quads<T> {
    fn default() -> Self {
        Self([[T::default(); QUAD]; PANEL])
    }
}
