//! The report of `trainer data audit`.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::records::boxes::BoxTally;
use crate::records::fault::CauseCount;
use crate::records::walk::LeftOut;

/// Statistics of a dataset.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditReport {
    /// Files.
    pub shards: usize,
    /// Row groups and tars.
    pub units: usize,
    /// Records, including broken ones.
    pub records: u64,
    /// Broken records.
    pub broken: u64,
    /// Broken records by cause, each with its first example.
    pub broken_by_cause: Vec<BrokenByCause>,
    /// Entries of folders that are no records, by the rule that leaves them out.
    #[serde(skip_serializing_if = "LeftOut::is_empty")]
    pub left_out: LeftOut,
    /// Valid records whose key occurred in an earlier record.
    pub repeated_keys: u64,
    /// Stored box entries and their irregularities.
    pub boxes: BoxTally,
    /// Boxes that have a phrase and overlap the image.
    pub usable_boxes: u64,
    /// Distinct phrases among them (compared by a 64-bit hash).
    pub unique_phrases: usize,
    /// Valid records without any such box.
    pub records_without_box: u64,
    /// Effect of the minimum box sizes.
    pub size_limits: Vec<SizeLimit>,
    /// Captions, in characters.
    pub captions: Lengths,
    /// Labels of the boxes.
    pub labels: Labels,
    /// Images.
    pub images: StoredSizes,
}

/// One cause with its count.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BrokenByCause {
    /// The cause in words.
    pub cause: String,
    /// Number of records and the first of them.
    #[serde(flatten)]
    pub count: CauseCount,
}

/// Effect of a minimum box size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SizeLimit {
    /// Input size of the model that the limit applies to, in pixels.
    pub model_px: u32,
    /// Boxes are kept if their area exceeds the square of this value, in pixels.
    pub min_box_px: f64,
    /// Boxes that are not kept.
    pub boxes_below: u64,
    /// Valid records that keep no box.
    pub records_without_box: u64,
}

/// Lengths of texts in characters; all 0 if there are no texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Lengths {
    /// Shortest.
    pub min: u64,
    /// Mean.
    pub mean: f64,
    /// Longest.
    pub max: u64,
}

/// Labels of the boxes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Labels {
    /// Total number of labels.
    pub total: u64,
    /// Number of distinct labels.
    pub distinct: usize,
    /// Number of occurrences of each label.
    pub counts: BTreeMap<String, u64>,
}

/// Sizes of images.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StoredSizes {
    /// Shortest side of all images, in pixels.
    pub min_side: u32,
    /// Longest side of all images, in pixels.
    pub max_side: u32,
    /// Number of distinct sizes.
    pub distinct: usize,
    /// The most frequent sizes.
    pub most_frequent: Vec<StoredSize>,
}

/// One image size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StoredSize {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Number of images.
    pub count: u64,
}
