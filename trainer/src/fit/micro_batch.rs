//! Micro-batches: which rows of a batch an encoder computes at a time.

use burn::tensor::{FloatDType, Int, Tensor};
use espalier_core::model::{DualEncoder, Tokens};
use espalier_io::ranks::share;

use super::rows::Rows;
use crate::config::Precision;

/// How a batch is split into micro-batches for the encoders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MicroBatching {
    /// Number of threads, at least 1, that share the rows of this rank.
    pub threads: usize,
    /// Number of sequential passes (accumulation steps), at least 1.
    pub passes: usize,
    /// Precision of the computation.
    pub precision: Precision,
    /// Whether the backward pass recomputes the activations of a micro-batch.
    pub checkpointing: bool,
}

/// Input of an encoder, without a graph: one or more batches that are encoded together.
pub(super) enum Input {
    Images(Vec<Rows<4>>, Option<Tensor<1, Int>>),
    /// Pooled features of a locked encoder, `[n, d_model]`.
    Pooled(Vec<Rows<2>>),
    Texts(Tokens),
    /// Texts with their features before the projection, `[n, d_model]`.
    PooledTexts(Tokens, Box<Rows<2>>),
}

impl Input {
    /// Returns the number of rows of each batch.
    pub(super) fn totals(&self) -> Vec<usize> {
        match self {
            Self::Images(batches, _) => batches.iter().map(|batch| batch.total).collect(),
            Self::Pooled(batches) => batches.iter().map(|batch| batch.total).collect(),
            Self::Texts(tokens) | Self::PooledTexts(tokens, _) => vec![tokens.rows()],
        }
    }

    /// Returns the features of one micro-batch; `None` if it has no rows.
    pub(super) fn features(
        &self,
        micro_batch: MicroBatch,
        model: &DualEncoder,
        precision: Precision,
    ) -> Option<Tensor<2>> {
        let features = match self {
            Self::Images(batches, keep) => {
                let images = cast_input(micro_batch.of(batches)?, precision);
                model.image.forward_tokens(images, keep.clone())
            }
            Self::Pooled(batches) => {
                let pooled = cast_input(micro_batch.of(batches)?, precision);
                model.image.project(pooled)
            }
            Self::Texts(tokens) => model.text.forward(&micro_batch.texts(tokens)?),
            Self::PooledTexts(_, features) => {
                let features = micro_batch.of(std::slice::from_ref(features.as_ref()))?;
                model.text.project(cast_input(features, precision))
            }
        };
        Some(match precision {
            Precision::Fp32 => features,
            Precision::Bf16 => features.cast(FloatDType::F32),
        })
    }
}

/// Casts the input of an encoder to the type that it computes in.
pub(super) fn cast_input<const D: usize>(input: Tensor<D>, precision: Precision) -> Tensor<D> {
    match precision {
        Precision::Fp32 => input,
        Precision::Bf16 => input.cast(FloatDType::BF16),
    }
}

/// One of the micro-batches into which all ranks split a step.
#[derive(Clone, Copy)]
pub(super) struct MicroBatch {
    /// Its number among those of all ranks.
    pub(super) index: usize,
    /// Number of micro-batches of all ranks.
    pub(super) count: usize,
}

impl MicroBatch {
    /// Returns its first row and its number of rows in a batch.
    pub(super) fn rows(self, total: usize) -> (usize, usize) {
        share(total, self.index, self.count)
    }

    /// Returns its texts; `None` if there are none.
    pub(super) fn texts(self, tokens: &Tokens) -> Option<Tokens> {
        let (from, count) = self.rows(tokens.rows());
        (count > 0).then(|| tokens.narrow(from, count))
    }

    /// Returns its rows of several batches, one after the other; `None` if there are none.
    pub(super) fn of<const D: usize>(self, batches: &[Rows<D>]) -> Option<Tensor<D>> {
        let rows = batches.iter().filter_map(|batch| {
            let (from, count) = self.rows(batch.total);
            (count > 0).then(|| batch.narrow(from, count))
        });
        let mut rows: Vec<_> = rows.collect();
        match rows.len() {
            0 | 1 => rows.pop(),
            _ => Some(Tensor::cat(rows, 0)),
        }
    }
}
