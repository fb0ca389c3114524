//! What a training step is given, and how to make it.

use std::sync::Arc;

use espalier_core::input::{RandomCrop, TokenBatch};
use image::RgbImage;

use super::anchors::Anchors;
use super::error::{DataError, Result};
use super::fault::BrokenCounts;
use super::features::{FeatureRows, Features};
use super::label_texts::LabelBatch;
use super::lineage::Lineages;
use super::noun_texts::NounBatch;
use super::order::{Position, ShuffleBudget};

/// What a method needs of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// A picture and its caption.
    Captions,
    /// Also a box and its phrase.
    Boxes,
    /// Texts from general to specific, of which the last describes the picture, if there is one.
    Chains,
    /// A picture and all of its boxes.
    Parts,
}

/// How to make batches of a dataset.
#[derive(Clone, Debug)]
pub struct BatchSpec {
    /// Samples of a batch, at least 1.
    pub batch_size: usize,
    /// Side of the square pictures, in pixels, at least 1.
    pub image_size: u32,
    /// Most tokens of a text, start and end included, at least 2.
    pub context: usize,
    /// What the method needs of a sample; samples without it are skipped.
    pub needs: Needs,
    /// Chains of texts of labels, for records that have a label and no chain of their own.
    pub lineages: Option<Arc<Lineages>>,
    /// Boxes of other pictures with the same label that each box brings a pair with.
    pub cross_image: usize,
    /// Random crop of pictures and boxes; `None` takes the middle of each.
    pub augment: Option<RandomCrop>,
    /// Whether every other record is seen in a mirror, where no text of it speaks of sides.
    pub mirror: bool,
    /// Probability that a picture or box is blurred, compressed or darkened, in [0, 1].
    pub worn: f32,
    /// Whether a picture is first centred on a white square, as the reference's training
    /// pictures are (METHODS 4, 5.2). Without it the ends of long pictures and boxes are cropped
    /// away. Prepared shards are square already.
    pub white_pad: bool,
    /// Boxes are used if their area exceeds the square of this, in whole pixels of the stored
    /// picture; see [`default_min_box_px`](super::boxes::default_min_box_px). Crops of prepared
    /// shards were selected already.
    pub min_box_px: f64,
    /// Seed of order, choice of boxes and augmentation.
    pub seed: u64,
    /// Threads that decode, crop and tokenise; 0 counts as 1. Has no influence on the batches.
    pub workers: usize,
    /// Batches that are made ahead of the step, at least 1.
    pub prefetch: usize,
    /// Fraction of broken records above which the run stops, in [0, 1].
    pub max_broken: f64,
    /// How much is shuffled together.
    pub shuffle: ShuffleBudget,
    /// Features that stand in for the pictures of the dataset, where it keeps them.
    pub features: Option<Arc<FeatureRows>>,
}

impl BatchSpec {
    /// The training recipe of METHODS 4 for `image_size`: random crops of the white-padded
    /// picture, boxes needed, seed 0, two workers, two batches ahead, 1 % broken.
    #[must_use]
    pub fn new(batch_size: usize, image_size: u32, context: usize) -> Self {
        Self {
            batch_size,
            image_size,
            context,
            needs: Needs::Boxes,
            lineages: None,
            cross_image: 1,
            augment: Some(RandomCrop::default()),
            mirror: false,
            worn: 0.0,
            white_pad: true,
            min_box_px: super::boxes::default_min_box_px(image_size),
            seed: 0,
            workers: 2,
            prefetch: 2,
            max_broken: 0.01,
            shuffle: ShuffleBudget::default(),
            features: None,
        }
    }

    /// Checks the ranges stated at the fields.
    ///
    /// # Errors
    /// The first field that is out of its range.
    pub fn check(&self) -> Result<()> {
        let checks: [(&'static str, bool, &'static str, String); 6] = [
            (
                "batch size",
                self.batch_size >= 1,
                "at least 1",
                self.batch_size.to_string(),
            ),
            (
                "image size",
                self.image_size >= 1,
                "at least 1",
                self.image_size.to_string(),
            ),
            (
                "context",
                self.context >= 2,
                "at least 2",
                self.context.to_string(),
            ),
            (
                "prefetch",
                self.prefetch >= 1,
                "at least 1",
                self.prefetch.to_string(),
            ),
            (
                "max-broken",
                (0.0..=1.0).contains(&self.max_broken),
                "a fraction in [0, 1]",
                self.max_broken.to_string(),
            ),
            (
                "min-box-px",
                self.min_box_px >= 0.0 && self.min_box_px.is_finite(),
                "a number of pixels, 0 or more",
                self.min_box_px.to_string(),
            ),
        ];
        for (field, fits, expected, found) in checks {
            if !fits {
                return Err(DataError::Setting {
                    field,
                    expected,
                    found,
                });
            }
        }
        Ok(())
    }
}

/// Square pictures of one size, 8 bits per value.
///
/// Kept in bytes because several batches wait at a time: in f32 a batch of 768 pairs of 224 px
/// would take 925 MB instead of 231.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pictures {
    /// Number of pictures.
    pub count: usize,
    /// Side in pixels.
    pub size: usize,
    /// `[count, 3, size, size]` in row-major order.
    pub bytes: Vec<u8>,
}

impl Pictures {
    /// Packs pictures of `size` x `size`.
    #[must_use]
    pub fn pack(size: u32, pictures: &[&RgbImage]) -> Self {
        let count = pictures.len();
        let mut bytes = Vec::with_capacity(count * 3 * (size as usize).pow(2));
        for picture in pictures {
            for channel in 0..3 {
                bytes.extend(picture.as_raw().iter().skip(channel).step_by(3));
            }
        }
        Self {
            count,
            size: size as usize,
            bytes,
        }
    }

    /// `[count, 3, size, size]` in [0, 1]: the values of [`espalier_core::input::to_planes`].
    #[must_use]
    pub fn to_planes(&self) -> Vec<f32> {
        self.bytes
            .iter()
            .map(|&byte| f32::from(byte) / 255.0)
            .collect()
    }
}

/// What the image encoder is given: pictures, or features that were computed of them before.
#[derive(Clone, Debug, PartialEq)]
pub enum ImageBatch {
    /// Pictures.
    Pictures(Pictures),
    /// Pooled features.
    Features(Features),
}

impl ImageBatch {
    /// Number of pictures.
    #[must_use]
    pub fn count(&self) -> usize {
        match self {
            Self::Pictures(pictures) => pictures.count,
            Self::Features(features) => features.count,
        }
    }

    /// The pictures; `None` where features stand in for them.
    #[must_use]
    pub fn pictures(&self) -> Option<&Pictures> {
        match self {
            Self::Pictures(pictures) => Some(pictures),
            Self::Features(_) => None,
        }
    }

    /// The features, where they stand in for pictures.
    #[must_use]
    pub fn features(&self) -> Option<&Features> {
        match self {
            Self::Pictures(_) => None,
            Self::Features(features) => Some(features),
        }
    }
}

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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use image::Rgb;

    use super::*;

    #[test]
    fn packed_pictures_have_the_planes_of_core() {
        let picture = |shift: u8| {
            RgbImage::from_fn(3, 3, |x, y| {
                Rgb([x as u8 * 90, y as u8 * 70 + shift, 255 - shift])
            })
        };
        let pictures = [picture(0), picture(9)];
        let packed = Pictures::pack(3, &pictures.each_ref());
        assert_eq!((packed.count, packed.size, packed.bytes.len()), (2, 3, 54));
        assert_eq!(
            packed.to_planes(),
            espalier_core::input::to_planes(&pictures)
        );
    }

    #[test]
    fn settings_out_of_range_are_named() {
        let spec = BatchSpec::new(4, 32, 77);
        spec.check().unwrap();
        let message = |spec: BatchSpec| spec.check().unwrap_err().to_string();
        assert_eq!(
            message(BatchSpec {
                batch_size: 0,
                ..spec.clone()
            }),
            "batch size must be at least 1, found 0"
        );
        assert_eq!(
            message(BatchSpec {
                max_broken: 1.5,
                ..spec.clone()
            }),
            "max-broken must be a fraction in [0, 1], found 1.5"
        );
        assert!(
            message(BatchSpec {
                min_box_px: f64::NAN,
                ..spec
            })
            .starts_with("min-box-px")
        );
    }
}
