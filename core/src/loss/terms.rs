//! A loss and its terms.

use burn::tensor::Tensor;

/// The number to minimise and the named terms to log.
#[derive(Clone, Debug)]
pub struct LossTerms {
    /// Input of the backward pass, shape `[1]`.
    pub total: Tensor<1>,
    /// Terms by name, in a fixed order; each of shape `[1]` and without gradient.
    pub named: Vec<(&'static str, Tensor<1>)>,
}

impl LossTerms {
    /// Creates a loss with its terms, which are detached from the graph.
    #[must_use]
    pub fn new(total: Tensor<1>, named: Vec<(&'static str, Tensor<1>)>) -> Self {
        let named = named
            .into_iter()
            .map(|(name, t)| (name, t.inner()))
            .collect();
        Self { total, named }
    }
}
