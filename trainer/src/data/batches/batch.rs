//! What a training step is given.

use std::sync::Arc;

use espalier_core::input::TokenBatch;

use crate::data::batches::anchors::Anchors;
use crate::data::batches::image_batch::{ImageBatch, Pictures};
use crate::data::batches::text_batch::{LabelBatch, NounBatch};
use crate::data::records::fault::BrokenCounts;
use crate::data::records::order::Position;

/// The texts of a batch of chains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chains {
    /// Texts of a chain.
    pub tiers: usize,
    /// Tokens of the positives, `b * tiers` rows, chain by chain, then of the negatives in the same
    /// order.
    pub texts: TokenBatch,
}

/// Wholes and parts of a batch. Rows of pictures are numbered through: first the scenes, as many as
/// the batch has samples, then all their boxes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenes {
    /// Crops of the boxes.
    pub boxes: Pictures,
    /// Pairs to train on: row of the whole, number of the box.
    pub pairs: Vec<(usize, usize)>,
    /// All known relations, the pairs among them, and each box with itself.
    pub entails: Vec<(usize, usize)>,
}

/// The samples of one training step.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Pictures, `[b, 3, s, s]`, or their features, `[b, d]`; none where the dataset has no
    /// pictures.
    pub images: ImageBatch,
    /// One crop of each picture, like `images`; `None` if the method needs no boxes.
    pub box_images: Option<ImageBatch>,
    /// Tokens of the captions, padded to the longest of the batch.
    pub captions: TokenBatch,
    /// Tokens of the phrases of the crops; `None` if the method needs no boxes.
    pub phrases: Option<TokenBatch>,
    /// Texts from general to specific, if the method needs them.
    pub chains: Option<Chains>,
    /// Boxes and what they are parts of, if the method needs them.
    pub scenes: Option<Scenes>,
    /// Texts of all labels and what the pictures should say of them, where the loss asks for it;
    /// drawn for the step, not with the records.
    pub labels: Option<LabelBatch>,
    /// General texts, then as many that are more specific, drawn for the step like the labels.
    pub order: Option<TokenBatch>,
    /// Nouns and the nodes that they belong to, where the loss asks for them; drawn like the labels.
    pub nouns: Option<NounBatch>,
    /// Where texts of nodes should lie, where the loss asks for it; the same at every step.
    pub anchors: Option<Arc<Anchors>>,
    /// Keys of the records.
    pub keys: Vec<String>,
    /// Label of the box of each sample; without boxes, of the first box that has one.
    pub synsets: Vec<Option<String>>,
    /// Where to continue after this batch.
    pub position_after: Position,
    /// Records looked at for this batch and what was skipped among them.
    pub skipped: BrokenCounts,
}
