//! Settings for making batches of a dataset.

use std::fmt::Display;
use std::ops::Range;
use std::sync::Arc;

use espalier_core::input::RandomCrop;
use espalier_io::ranks::share;

use crate::Needs;
use crate::batches::feature_rows::FeatureRows;
use crate::records::caption_chains::CaptionChains;
use crate::records::error::{DataError, Result};
use crate::records::lanes::lanes_of;
use crate::records::lineage::Lineages;
use crate::records::order::ShuffleBudget;

/// Settings for making batches of a dataset.
#[derive(Clone, Debug)]
pub struct BatchSpec {
    /// Samples per batch, at least 1.
    pub batch_size: usize,
    /// Side of the square input images, in pixels, at least 1.
    pub image_size: u32,
    /// Maximum number of tokens of a text, including start and end, at least 2.
    pub context: usize,
    /// Inputs that the method needs from a sample; samples without them are skipped.
    pub needs: Needs,
    /// Chains of texts of labels, for records with a label but without a chain of their own.
    pub lineages: Option<Arc<Lineages>>,
    /// Makes chains of texts from captions, for records without a label.
    pub caption_chains: Option<Arc<CaptionChains>>,
    /// Maximum number of boxes of other images with the same label that each box is paired with.
    pub cross_image: usize,
    /// Random crop of images and boxes; `None` uses the centre of each.
    pub augment: Option<RandomCrop>,
    /// Whether records are flipped horizontally with probability 1/2, unless a text mentions sides.
    pub mirror: bool,
    /// Probability that an image or box is blurred, compressed or darkened, in [0, 1].
    pub corruption: f32,
    /// Whether an image is first centred on a white square, as in the reference's training
    /// (notation 4, 5.2). Without it, the ends of elongated images and boxes are cropped away.
    /// Prepared shards are already square.
    pub white_pad: bool,
    /// Boxes are used if their area exceeds the square of this value, in whole pixels of the stored
    /// image; see [`default_min_box_px`](crate::records::boxes::default_min_box_px). Crops of
    /// prepared shards were already selected.
    pub min_box_px: f64,
    /// Whether a record without boxes gets one where the method needs it: the whole image with a noun
    /// phrase of its caption.
    pub phrases_as_boxes: bool,
    /// Seed of the order, the choice of boxes and the augmentation.
    pub seed: u64,
    /// Threads that decode, crop and tokenise; 0 counts as 1. Does not affect the batches.
    pub workers: usize,
    /// Number of batches prepared ahead of the step, at least 1.
    pub prefetch: usize,
    /// Fraction of broken records above which the run stops, in [0, 1].
    pub max_broken: f64,
    /// Limits of the data that is shuffled together.
    pub shuffle: ShuffleBudget,
    /// Lanes of the data, at least 1; each gives its share of the rows of a batch. See
    /// [`lanes`](crate::records::lanes).
    pub lanes: usize,
    /// This process and the number of processes that share the images of a batch; `(0, 1)` where
    /// one process reads all of them. A process reads the lanes of its own rows.
    pub share: (usize, usize),
    /// Precomputed features that replace the images of the dataset, where it has them.
    pub features: Option<Arc<FeatureRows>>,
}

impl BatchSpec {
    /// Returns the training recipe of notation 4 for `image_size`: random crops of the white-padded
    /// image, boxes needed, seed 0, two workers, two batches ahead, 1 % broken.
    pub fn new(batch_size: usize, image_size: u32, context: usize) -> Self {
        Self {
            batch_size,
            image_size,
            context,
            needs: Needs::Boxes,
            lineages: None,
            caption_chains: None,
            cross_image: 1,
            augment: Some(RandomCrop::default()),
            mirror: false,
            corruption: 0.0,
            white_pad: true,
            min_box_px: crate::records::boxes::default_min_box_px(image_size),
            phrases_as_boxes: false,
            seed: 0,
            workers: 2,
            prefetch: 2,
            max_broken: 0.01,
            shuffle: ShuffleBudget::default(),
            lanes: 1,
            share: (0, 1),
            features: None,
        }
    }

    /// Returns the rows of a batch whose images this process decodes; `None` if all processes hold all
    /// of them.
    pub fn own_rows(&self) -> Option<Range<usize>> {
        let (rank, world) = self.share;
        // The boxes of scenes are shared between the rows of a batch, and features are at hand.
        if world == 1 || self.needs == Needs::Parts || self.features.is_some() {
            return None;
        }
        let (from, count) = share(self.batch_size, rank, world);
        Some(from..from + count)
    }

    /// Returns the lanes that process `rank` reads.
    pub fn lanes_of(&self, rank: usize) -> Range<usize> {
        match self.own_rows() {
            None => 0..self.lanes,
            Some(_) => lanes_of(self.batch_size, self.lanes, (rank, self.share.1)),
        }
    }

    /// Returns the limits of the data that a lane shuffles together: its part of the whole.
    pub(crate) fn shuffle_of_lane(&self) -> ShuffleBudget {
        let lanes = self.lanes.max(1) as u64;
        ShuffleBudget {
            records: self.shuffle.records / lanes,
            bytes: self.shuffle.bytes / lanes,
        }
    }

    /// Checks the ranges documented at the fields.
    ///
    /// # Errors
    /// If a field is out of its range; names the first one.
    pub fn check(&self) -> Result<()> {
        let check = |field, expected, found: &dyn Display, fits: bool| match fits {
            true => Ok(()),
            false => Err(DataError::setting(field, expected, found)),
        };
        let (batch_size, lanes, min_box_px) = (self.batch_size, self.lanes, self.min_box_px);
        check("batch size", "at least 1", &batch_size, batch_size >= 1)?;
        let (image_size, context) = (self.image_size, self.context);
        check("image size", "at least 1", &image_size, image_size >= 1)?;
        check("context", "at least 2", &context, context >= 2)?;
        let some_rows_each = (1..=batch_size).contains(&lanes);
        let expected = "at least 1 and at most the batch size";
        check("lanes", expected, &lanes, some_rows_each)?;
        check("prefetch", "at least 1", &self.prefetch, self.prefetch >= 1)?;
        let share = self.max_broken;
        let is_share = (0.0..=1.0).contains(&share);
        check("max-broken", "a fraction in [0, 1]", &share, is_share)?;
        let is_size = min_box_px >= 0.0 && min_box_px.is_finite();
        let expected = "a number of pixels, 0 or more";
        check("min-box-px", expected, &min_box_px, is_size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_decodes_its_rows_unless_all_hold_all_of_them() {
        let spec = BatchSpec::new(8, 32, 77);
        let rows = |share, needs| {
            let spec = BatchSpec {
                needs,
                share,
                ..spec.clone()
            };
            spec.own_rows()
        };
        assert_eq!(rows((0, 1), Needs::Captions), None);
        assert_eq!(rows((0, 2), Needs::Captions), Some(0..4));
        assert_eq!(rows((1, 2), Needs::Captions), Some(4..8));
        assert_eq!(rows((1, 3), Needs::Captions), Some(2..5));
        assert_eq!(rows((1, 2), Needs::Parts), None);
    }

    #[test]
    fn lanes_share_the_limits_of_a_shuffle() {
        let spec = BatchSpec {
            lanes: 4,
            shuffle: ShuffleBudget {
                records: 1_002,
                bytes: 4_006,
            },
            ..BatchSpec::new(8, 32, 77)
        };
        let own = spec.shuffle_of_lane();
        assert_eq!((own.records, own.bytes), (250, 1_001));
    }

    #[test]
    fn settings_out_of_range_are_named() {
        let refused = |change: &dyn Fn(&mut BatchSpec)| {
            let mut spec = BatchSpec::new(4, 32, 77);
            spec.check().unwrap();
            change(&mut spec);
            spec.check().unwrap_err().to_string()
        };
        let found = refused(&|spec| spec.batch_size = 0);
        assert_eq!(found, "batch size must be at least 1, found 0");
        let found = refused(&|spec| spec.max_broken = 1.5);
        assert_eq!(found, "max-broken must be a fraction in [0, 1], found 1.5");
        for min_box_px in [f64::NAN, f64::INFINITY, -1.0] {
            let found = refused(&|spec| spec.min_box_px = min_box_px);
            assert!(found.starts_with("min-box-px"), "{found}");
        }
    }
}
