//! Texts of a training step that come from the taxonomy and not from the samples.

use espalier_core::input::TokenBatch;
use espalier_core::taxonomy::NodeIx;

use crate::data::batches::distill::DistillBatch;
use crate::data::batches::image_batch::ImageBatch;

/// Texts of labels and targets of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelBatch {
    /// One text of each of `l` labels.
    pub texts: TokenBatch,
    /// `[l]`: the nodes that these texts name.
    pub nodes: Vec<NodeIx>,
    /// `[b, l]`: what the pictures of the batch should say; rows sum to 1, or are 0 where a sample
    /// has no label of the taxonomy.
    pub targets: Vec<f32>,
    /// Pictures of nothing, where the loss asks for them.
    pub nothing: Option<NothingBatch>,
    /// Probabilities of the classifier that is distilled, where the loss asks for them.
    pub distill: Option<DistillBatch>,
}

/// Pictures of nothing and what they should say.
#[derive(Clone, Debug, PartialEq)]
pub struct NothingBatch {
    /// The pictures, or their features.
    pub images: ImageBatch,
    /// `[l]`: the same for each of them, with a sum of 1.
    pub target: Vec<f32>,
}

/// Texts of a step and how they belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct NounBatch {
    /// `n` nouns.
    pub nouns: TokenBatch,
    /// Names of `m` nodes, each node once.
    pub nodes: TokenBatch,
    /// `[m]`: the nodes that these texts name.
    pub columns: Vec<NodeIx>,
    /// `[n, m]`: share of each node in what a noun should be near; rows sum to 1.
    pub targets: Vec<f32>,
    /// Rows of nouns and columns of nodes that lie above them, the node itself excluded.
    pub below: Vec<(usize, usize)>,
    /// `[n + m]`: how general the nouns are, then the nodes ([`crate::data::nouns::generality`]).
    pub generality: Vec<f32>,
}
