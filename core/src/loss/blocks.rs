//! The contrastive term without the similarities of the whole batch in memory.
//!
//! The gradient of each block of queries is computed at once and kept; then its logits are dropped. The
//! result is a linear function of its inputs that has the value and the gradient of the term, so the
//! caller can add and weigh it like any other.

use burn::tensor::Tensor;

use super::groups::Groups;
use super::likelihood::negative_log_likelihood;

/// Computes [`Contrast::cross_entropy`](super::Contrast) over `rows` queries at a time.
pub(super) fn cross_entropy<const D: usize, const P: usize>(
    (scale, groups): (&Tensor<1>, &Groups),
    rows: usize,
    [queries, keys]: [&Tensor<D>; 2],
    parameters: [&Tensor<D>; P],
    similarity: impl Fn(Tensor<D>, Tensor<D>, [Tensor<D>; P]) -> Tensor<2>,
) -> Tensor<1> {
    let count = queries.dims()[D - 2];
    let blocks = (0..count).step_by(rows).map(|from| {
        let block = queries.clone().narrow(D - 2, from, rows.min(count - from));
        (from, block)
    });
    if !queries.is_autodiff() {
        let block = |(from, queries): (usize, Tensor<D>)| {
            let g = similarity(queries, keys.clone(), parameters.map(Tensor::clone));
            let logits = groups.leave_out(g * scale.clone().unsqueeze(), from);
            negative_log_likelihood(logits, from)
        };
        let terms: Vec<Tensor<1>> = blocks.map(block).collect();
        return Tensor::cat(terms, 0).sum() / count as f64;
    }
    let mut keys = Input::new(keys);
    let mut parameters = parameters.map(Input::new);
    let mut scale = Input::new(scale);
    let (mut values, mut of_queries) = (Vec::new(), Vec::new());
    for (from, block) in blocks {
        let mut block = Input::new(&block);
        let inner = parameters
            .each_ref()
            .map(|parameter| parameter.leaf.clone());
        let g = similarity(block.leaf.clone(), keys.leaf.clone(), inner);
        let logits = groups.leave_out(g * scale.leaf.clone().unsqueeze(), from);
        let term = negative_log_likelihood(logits, from) / count as f64;
        values.push(term.clone().inner());
        let mut gradients = term.backward();
        block.take(&mut gradients);
        keys.take(&mut gradients);
        scale.take(&mut gradients);
        for parameter in &mut parameters {
            parameter.take(&mut gradients);
        }
        of_queries.push(block.gradient);
    }
    let queries = Input {
        whole: queries.clone(),
        leaf: queries.clone(),
        gradient: Tensor::cat(of_queries, D - 2),
    };
    let parameters = parameters.into_iter().map(Input::linear);
    let linear = parameters.fold(
        queries.linear() + keys.linear() + scale.linear(),
        |sum, term| sum + term,
    );
    let value = Tensor::cat(values, 0).sum().autodiff();
    linear.clone() - linear.detach() + value
}

/// An input of the term with the gradient that was found so far.
struct Input<const D: usize> {
    whole: Tensor<D>,
    leaf: Tensor<D>,
    gradient: Tensor<D>,
}

impl<const D: usize> Input<D> {
    fn new(whole: &Tensor<D>) -> Self {
        let inner = whole.clone().inner();
        Self {
            whole: whole.clone(),
            gradient: inner.zeros_like(),
            leaf: inner.autodiff().require_grad(),
        }
    }

    /// Adds the gradient of a block.
    fn take(&mut self, gradients: &mut burn::tensor::Gradients) {
        if let Some(found) = self.leaf.grad_remove(gradients) {
            self.gradient = self.gradient.clone() + found;
        }
    }

    /// Returns a term whose gradient by the input is the one that was found.
    fn linear(self) -> Tensor<1> {
        (self.whole * self.gradient.autodiff()).sum()
    }
}
