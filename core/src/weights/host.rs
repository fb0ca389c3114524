//! One tensor in memory.

/// One tensor on the host in `f32`, row major.
#[derive(Clone, Debug, PartialEq)]
pub struct HostTensor {
    /// Sizes of its dimensions; empty for a scalar.
    pub shape: Vec<usize>,
    /// Its elements.
    pub data: Vec<f32>,
}
