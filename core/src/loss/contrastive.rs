//! The contrastive term: classification of the key that belongs to each query.

use std::num::NonZeroUsize;

use burn::tensor::Tensor;

use super::groups::Groups;
use super::likelihood::negative_log_likelihood;

/// How queries are compared with keys: the factor of the similarities, how many queries are compared at
/// once, and which of them show the same image.
///
/// The logits of a batch of `b` take `b^2` numbers, several times over for the gradient. In blocks
/// of `rows` queries they take `rows * b`; value and gradient are the same up to rounding.
#[derive(Clone, Debug)]
pub struct Contrast {
    scale: Tensor<1>,
    rows: Option<NonZeroUsize>,
    groups: Groups,
}

impl From<Tensor<1>> for Contrast {
    fn from(scale: Tensor<1>) -> Self {
        Self {
            scale,
            rows: None,
            groups: Groups::default(),
        }
    }
}

impl Contrast {
    /// Compares at most `rows` queries at once; `None` compares all.
    #[cfg(feature = "autodiff")]
    #[must_use]
    pub fn in_blocks(self, rows: Option<NonZeroUsize>) -> Self {
        Self { rows, ..self }
    }

    /// Leaves out the negatives that show the same image as their query.
    #[must_use]
    pub fn within(self, groups: Groups) -> Self {
        Self { groups, ..self }
    }

    /// Returns the factor of the similarities, `[1]`.
    #[must_use]
    pub fn scale(&self) -> Tensor<1> {
        self.scale.clone()
    }

    /// Computes the mean over queries of `-log softmax(scale * g)[i, i]`, where
    /// `g = similarity(queries, keys, parameters)`: key `i` belongs to query `i`. Keys of the same group
    /// as a query are left out of its softmax, except for its own.
    ///
    /// # Shapes
    /// queries and keys `[.., b, d]`, similarities of `n` queries `[n, b]`; `-> [1]`
    pub(super) fn cross_entropy<const D: usize, const P: usize>(
        &self,
        [queries, keys]: [&Tensor<D>; 2],
        parameters: [&Tensor<D>; P],
        similarity: impl Fn(Tensor<D>, Tensor<D>, [Tensor<D>; P]) -> Tensor<2>,
    ) -> Tensor<1> {
        let count = queries.dims()[D - 2];
        #[cfg(feature = "autodiff")]
        if let Some(rows) = self.rows.filter(|_| self.is_cut(count)) {
            return super::blocks::cross_entropy(
                (&self.scale, &self.groups),
                rows.get(),
                [queries, keys],
                parameters,
                similarity,
            );
        }
        let g = similarity(queries.clone(), keys.clone(), parameters.map(Tensor::clone));
        let logits = self.groups.leave_out(g * self.scale().unsqueeze(), 0);
        negative_log_likelihood(logits, 0) / count as f64
    }

    /// Returns whether this number of queries is compared in several blocks.
    fn is_cut(&self, count: usize) -> bool {
        self.rows.is_some_and(|rows| rows.get() < count)
    }

    /// Computes the loss of similarities `g` in both directions: `(CE(s g) + CE(s g^T)) / 2` (notation
    /// 2.1, 2.2).
    ///
    /// # Shapes
    /// `x, y [b, d]`, similarities of `[n, d]` and `[m, d]` `[n, m]`; `-> [1]`
    pub(super) fn both_ways<const P: usize>(
        &self,
        [x, y]: [&Tensor<2>; 2],
        parameters: [&Tensor<2>; P],
        similarity: impl Fn(Tensor<2>, Tensor<2>, [Tensor<2>; P]) -> Tensor<2>,
    ) -> Tensor<1> {
        let count = x.dims()[0];
        if !self.is_cut(count) {
            let g = similarity(x.clone(), y.clone(), parameters.map(Tensor::clone));
            // Which pairs are left out is the same in both directions.
            let logits = self.groups.leave_out(g * self.scale().unsqueeze(), 0);
            let one_way = |logits| negative_log_likelihood(logits, 0);
            let sum = one_way(logits.clone()) + one_way(logits.transpose());
            return sum / (2 * count) as f64;
        }
        let one_way = |queries, keys| self.cross_entropy([queries, keys], parameters, &similarity);
        (one_way(x, y) + one_way(y, x)) * 0.5
    }
}

#[cfg(test)]
mod tests {
    // Only training compares in blocks.
    #[cfg(feature = "autodiff")]
    #[test]
    fn only_more_queries_than_the_rows_of_a_block_are_cut() {
        use std::num::NonZeroUsize;

        use burn::tensor::{Device, Tensor};

        use super::Contrast;

        let scale = Tensor::<1>::from_data([1.0_f32], &Device::flex());
        let whole = Contrast::from(scale);
        assert!(!whole.is_cut(1_000));
        let blocks = whole.in_blocks(NonZeroUsize::new(4));
        assert!(!blocks.is_cut(3) && !blocks.is_cut(4) && blocks.is_cut(5));
    }
}
