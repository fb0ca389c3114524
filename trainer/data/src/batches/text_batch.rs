//! Texts of a training step that come from the taxonomy and not from the samples.

use espalier_core::input::TokenBatch;
use espalier_core::taxonomy::NodeIx;

use crate::batches::distill::DistillBatch;
use crate::batches::image_batch::ImageBatch;

/// Texts of labels and targets of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelBatch {
    /// One text of each of `l` labels.
    pub texts: TokenBatch,
    /// `[l]`: the nodes named by these texts.
    pub nodes: Vec<NodeIx>,
    /// `[b, l]`: target distributions of the images of the batch; rows sum to 1, or are 0 where a
    /// sample has no label of the taxonomy.
    pub targets: Vec<f32>,
    /// Outlier images, where the loss needs them.
    pub outliers: Option<OutlierBatch>,
    /// Class probabilities of the distilled classifier, where the loss needs them.
    pub distill: Option<DistillBatch>,
}

/// Outlier images and their target distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct OutlierBatch {
    /// The outlier images, or their features.
    pub images: ImageBatch,
    /// `[l]`: the target distribution of every outlier image, with a sum of 1.
    pub target: Vec<f32>,
}

/// Noun and node texts of a step and their relations.
#[derive(Clone, Debug, PartialEq)]
pub struct NounBatch {
    /// Tokens of `n` nouns.
    pub nouns: TokenBatch,
    /// Tokens of the names of `m` targets, each target once.
    pub nodes: TokenBatch,
    /// `[m]`: the targets named by these texts: indices of the nodes of the taxonomy, then of the
    /// concepts outside it ([`crate::nouns::concepts`]).
    pub columns: Vec<usize>,
    /// `[n, m]`: target weight of each column for a noun; rows sum to 1.
    pub targets: Vec<f32>,
    /// Pairs of a noun row and the column of a target above it, the noun's own target excluded.
    pub below: Vec<(usize, usize)>,
    /// `[n + m]`: generality of the nouns, then of the targets
    /// ([`crate::nouns::generality`]).
    pub generality: Vec<f32>,
}
