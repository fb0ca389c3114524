//! Rows of a batch that show the same image, which are no negatives of each other.

use std::sync::Arc;

use burn::tensor::{Bool, Tensor, TensorData};

/// Logit of a pair that is left out of a comparison: no softmax gives it a share.
const LEFT_OUT: f32 = -1e9;

/// The group of each sample of a batch; by default each has its own.
///
/// A batch can hold an image twice, with two of its captions. Each of them describes the image, so neither
/// may count as a negative.
#[derive(Clone, Debug, Default)]
pub struct Groups(Option<Arc<[u32]>>);

impl Groups {
    /// Creates groups from the number of the group of each sample, `[b]`.
    #[must_use]
    pub fn new(of_sample: &[u32]) -> Self {
        Self(Some(of_sample.into()))
    }

    /// Leaves pairs of different samples of the same group out of a comparison: of the queries `first ..
    /// first + n` with all keys. Where there are more keys than samples, these are the images, then
    /// their crops, in the same order.
    ///
    /// # Shapes
    /// `logits [n, m] -> [n, m]`
    pub(super) fn leave_out(&self, logits: Tensor<2>, first: usize) -> Tensor<2> {
        let Some(groups) = &self.0 else {
            return logits;
        };
        let [rows, columns] = logits.dims();
        let samples = groups.len();
        let mut mask = vec![false; rows * columns];
        for (row, cells) in mask.chunks_mut(columns).enumerate() {
            let query = (first + row) % samples;
            for (column, cell) in cells.iter_mut().enumerate() {
                let key = column % samples;
                *cell = key != query && groups[key] == groups[query];
            }
        }
        let mask: Tensor<2, Bool> =
            Tensor::from_data(TensorData::new(mask, [rows, columns]), &logits.device());
        logits.mask_fill(mask, LEFT_OUT)
    }
}
