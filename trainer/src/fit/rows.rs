//! Rows of a batch, of which a rank may hold only its own.

use burn::tensor::Tensor;

/// Consecutive rows of a batch.
#[derive(Clone, Debug)]
pub struct Rows<const D: usize> {
    /// The rows that this process holds, along dimension 0.
    pub held: Tensor<D>,
    /// Number of the first of them in the batch.
    pub first: usize,
    /// Number of rows of the batch.
    pub total: usize,
}

impl<const D: usize> Rows<D> {
    /// Creates the rows of a whole batch.
    pub fn whole(held: Tensor<D>) -> Self {
        let total = held.dims()[0];
        Self {
            held,
            first: 0,
            total,
        }
    }

    /// Returns rows by their number in the batch; this process must hold them.
    pub fn narrow(&self, from: usize, count: usize) -> Tensor<D> {
        self.held.clone().narrow(0, from - self.first, count)
    }

    /// Applies a function that keeps the rows.
    pub fn map(self, function: impl FnOnce(Tensor<D>) -> Tensor<D>) -> Self {
        Self {
            held: function(self.held),
            ..self
        }
    }
}
