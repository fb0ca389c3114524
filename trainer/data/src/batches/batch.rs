//! Inputs of a training step.

use std::collections::HashMap;
use std::sync::Arc;

use espalier_core::input::TokenBatch;

use crate::batches::anchors::Anchors;
use crate::batches::image_batch::{ImageBatch, Pixels};
use crate::batches::text_batch::{LabelBatch, NounBatch};
use crate::records::fault::BrokenCounts;
use crate::records::lanes::Positions;

/// The texts of a batch of chains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chains {
    /// Number of texts per chain; 0 where there is no chain.
    pub tiers: usize,
    /// Tokens of the positives, `b * tiers` rows, chain by chain; then those of the negatives in
    /// the same order.
    pub texts: TokenBatch,
}

/// Wholes and parts of a batch. Image rows are numbered consecutively: first the scenes, one per
/// sample, then all their boxes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenes {
    /// Crops of the boxes.
    pub boxes: Pixels,
    /// Pairs to train on: row of the whole, number of the box.
    pub pairs: Vec<(usize, usize)>,
    /// All known relations, including the pairs and each box with itself.
    pub entails: Vec<(usize, usize)>,
}

/// Which rows of a batch have their images here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageRows {
    /// Number of the first row whose image is here.
    pub first: usize,
    /// Number of rows with images in the whole batch.
    pub total: usize,
}

/// Contents of the samples of a batch beside images and captions; one variant for each of
/// [`Needs`](crate::Needs).
#[derive(Clone, Debug, PartialEq)]
pub enum BatchContent {
    /// Images and captions alone.
    Pairs,
    /// One crop of each image, and its phrase.
    Boxed {
        /// The crops, like [`Batch::images`].
        images: ImageBatch,
        /// Tokens of the phrases.
        phrases: TokenBatch,
    },
    /// Texts from general to specific.
    Chains(Chains),
    /// Boxes and the wholes that they are parts of.
    Scenes(Scenes),
}

impl BatchContent {
    /// Returns the crops, if the samples have some.
    pub fn box_images(&self) -> Option<&ImageBatch> {
        match self {
            Self::Boxed { images, .. } => Some(images),
            _ => None,
        }
    }

    /// Returns the tokens of the texts: those of phrases or chains.
    pub fn texts(&self) -> Option<&TokenBatch> {
        match self {
            Self::Boxed { phrases, .. } => Some(phrases),
            Self::Chains(chains) => Some(&chains.texts),
            Self::Pairs | Self::Scenes(_) => None,
        }
    }
}

/// The samples of one training step.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Images, `[b, 3, s, s]`, or their features, `[b, d]`; none where the dataset has no images. In
    /// a run of several processes, only the images of this one.
    pub images: ImageBatch,
    /// Rows of the images that are here.
    pub image_rows: ImageRows,
    /// Tokens of the captions, padded to the longest of the batch.
    pub captions: TokenBatch,
    /// Contents beside images and captions.
    pub content: BatchContent,
    /// Texts of labels and the target distributions of the images, where the loss needs them; drawn
    /// for the step, not with the records.
    pub labels: Option<LabelBatch>,
    /// General texts, then as many more specific ones, drawn for the step like the labels.
    pub order: Option<TokenBatch>,
    /// Nouns and their nodes, where the loss needs them; drawn like the labels.
    pub nouns: Option<NounBatch>,
    /// Target directions of the texts of nodes, where the loss needs them; the same at every step.
    pub anchors: Option<Arc<Anchors>>,
    /// Shards of the records.
    pub shards: Vec<u32>,
    /// Keys of the records.
    pub keys: Vec<String>,
    /// Label of the box of each sample; for samples without a chosen box, that of the first
    /// labelled box.
    pub synsets: Vec<Option<String>>,
    /// Positions at which to continue after this batch, by lane.
    pub position_after: Positions,
    /// Counts of records read for this batch and of those skipped.
    pub skipped: BrokenCounts,
}

impl Batch {
    /// Returns the number of the first sample with the same image for each sample, `[b]`; `None` if no
    /// image is there twice. Records of a shard with the same key have the same image.
    pub fn same_images(&self) -> Option<Vec<u32>> {
        let mut first: HashMap<(u32, &str), u32> = HashMap::with_capacity(self.keys.len());
        let keys = self.shards.iter().zip(&self.keys);
        let groups: Vec<u32> = (0..)
            .zip(keys)
            .map(|(sample, (shard, key))| *first.entry((*shard, key)).or_insert(sample))
            .collect();
        (first.len() < groups.len()).then_some(groups)
    }
}
