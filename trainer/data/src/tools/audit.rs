//! `trainer data audit`: reads all records including their images, and reports statistics.

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use rayon::prelude::*;
use serde::Serialize;

use crate::records::boxes::{
    BoxTally, GroundedBox, Region, default_min_box_px, large_enough, pixel_box,
};
use crate::records::error::{DataError, Result};
use crate::records::fault::{Broken, BrokenCounts, Cause, CauseCount, Fault};
use crate::records::source::{Dataset, Record, Records};
use crate::records::walk::LeftOut;

/// Rows per task: large enough to outweigh the overhead of a task, small enough for load balancing.
const TASK_ROWS: usize = 64;
/// Maximum number of image sizes that are listed individually.
const LISTED_SIZES: usize = 10;

/// Model input sizes for which the limits are reported: that of the papers and prepared shards, and that of the small
/// preset.
const MODEL_SIZES: [u32; 2] = [224, 64];

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

#[derive(Default)]
struct Tally {
    counts: BrokenCounts,
    keys: Vec<u64>,
    phrases: Vec<u64>,
    boxes: BoxTally,
    usable: u64,
    boxless: u64,
    /// Boxes below each limit, and records without a box above it.
    limits: [(u64, u64); MODEL_SIZES.len()],
    /// Captions by their number of characters.
    captions: BTreeMap<u64, u64>,
    labels: BTreeMap<String, u64>,
    sizes: BTreeMap<(u32, u32), u64>,
}

fn add_counts<K: Ord>(to: &mut BTreeMap<K, u64>, from: BTreeMap<K, u64>) {
    for (key, count) in from {
        *to.entry(key).or_default() += count;
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Reads every record and decodes every image, on the threads of the current rayon pool.
///
/// Calls `progress` with the number of records of each finished part. The report does not depend on
/// the number of threads.
///
/// # Errors
/// If object storage fails; broken records are counted.
pub fn audit(dataset: &dyn Dataset, progress: &(dyn Fn(u64) + Sync)) -> Result<AuditReport> {
    let units = dataset.units();
    let mut total = Tally::default();
    let mut next = units.first().map(|_| dataset.load(0));
    for (i, unit) in units.iter().enumerate() {
        let Some(loaded) = next.take() else { break };
        let name = dataset.shard_name(unit.shard);
        let rows: Vec<usize> = (0..unit.records as usize).collect();
        // Reads one unit while the next is loaded; at most two are in memory.
        let (tallies, following) = rayon::join(
            || {
                rows.par_chunks(TASK_ROWS)
                    .map(|rows| {
                        let tally = read_rows(&loaded, rows, name);
                        progress(rows.len() as u64);
                        tally
                    })
                    .collect::<Vec<Tally>>()
            },
            || (i + 1 < units.len()).then(|| dataset.load(i + 1)),
        );
        next = following;
        for tally in tallies {
            total.merge(tally);
        }
    }
    DataError::check_storage(&total.counts)?;
    Ok(total.report(dataset))
}

fn read_rows(loaded: &Result<Box<dyn Records>, Broken>, rows: &[usize], shard: &str) -> Tally {
    let mut tally = Tally::default();
    for &row in rows {
        tally.counts.seen += 1;
        let read = loaded.read(row).and_then(|record| {
            let counted = tally.count(&record);
            counted.map_err(|fault| fault.of(record.key))
        });
        if let Err(broken) = read {
            tally.counts.add(shard, &broken);
        }
    }
    tally
}

impl Tally {
    /// Counts a record if its images can be decoded.
    fn count(&mut self, record: &Record) -> Result<(), Fault> {
        let image = record.image.decode()?;
        for grounded in &record.boxes {
            if let Region::Crop(crop) = &grounded.region {
                crop.decode()?;
            }
        }
        let (width, height) = image.dimensions();
        *self.sizes.entry((width, height)).or_default() += 1;
        self.keys.push(hash(&record.key));
        self.phrases
            .extend(record.boxes.iter().map(|grounded| hash(&grounded.phrase)));
        self.boxes += record.tally;
        self.usable += record.boxes.len() as u64;
        self.boxless += u64::from(record.boxes.is_empty());
        for (limit, model_px) in self.limits.iter_mut().zip(MODEL_SIZES) {
            let min_box_px = default_min_box_px(model_px);
            let is_below = |grounded: &&GroundedBox| match grounded.region {
                Region::Relative(rel) => !large_enough(pixel_box(rel, width, height), min_box_px),
                Region::Crop(_) => false,
            };
            let below = record.boxes.iter().filter(is_below).count();
            limit.0 += below as u64;
            limit.1 += u64::from(below == record.boxes.len());
        }
        for caption in record.captions() {
            let chars = caption.chars().count() as u64;
            *self.captions.entry(chars).or_default() += 1;
        }
        for synset in &record.synsets {
            *self.labels.entry(synset.clone()).or_default() += 1;
        }
        Ok(())
    }

    fn merge(&mut self, later: Self) {
        self.counts.merge(&later.counts);
        self.keys.extend(later.keys);
        self.phrases.extend(later.phrases);
        self.boxes += later.boxes;
        self.usable += later.usable;
        self.boxless += later.boxless;
        for (own, other) in self.limits.iter_mut().zip(later.limits) {
            own.0 += other.0;
            own.1 += other.1;
        }
        add_counts(&mut self.captions, later.captions);
        add_counts(&mut self.labels, later.labels);
        add_counts(&mut self.sizes, later.sizes);
        // Phrase hashes repeat often; compact the list so that it does not grow with the number of
        // records.
        if self.phrases.len() > 1 << 20 {
            self.phrases.sort_unstable();
            self.phrases.dedup();
        }
    }

    fn report(mut self, dataset: &dyn Dataset) -> AuditReport {
        let units = dataset.units();
        let shards: HashSet<u32> = units.iter().map(|unit| unit.shard).collect();
        self.phrases.sort_unstable();
        self.phrases.dedup();
        let keys = self.keys.len();
        self.keys.sort_unstable();
        self.keys.dedup();
        AuditReport {
            shards: shards.len(),
            units: units.len(),
            records: self.counts.seen,
            broken: self.counts.broken(),
            broken_by_cause: self.broken_by_cause(),
            left_out: dataset.left_out(),
            repeated_keys: (keys - self.keys.len()) as u64,
            boxes: self.boxes,
            usable_boxes: self.usable,
            unique_phrases: self.phrases.len(),
            records_without_box: self.boxless,
            size_limits: self.size_limits(),
            captions: self.lengths(),
            images: self.image_sizes(),
            labels: Labels {
                total: self.labels.values().sum(),
                distinct: self.labels.len(),
                counts: self.labels,
            },
        }
    }

    fn broken_by_cause(&self) -> Vec<BrokenByCause> {
        let causes = self.counts.by_cause.iter();
        let cause = |(cause, count): (&Cause, &CauseCount)| BrokenByCause {
            cause: cause.to_string(),
            count: count.clone(),
        };
        causes.map(cause).collect()
    }

    fn size_limits(&self) -> Vec<SizeLimit> {
        let limit = |(model_px, (boxes_below, records_without_box))| SizeLimit {
            model_px,
            min_box_px: default_min_box_px(model_px),
            boxes_below,
            records_without_box,
        };
        MODEL_SIZES
            .into_iter()
            .zip(self.limits)
            .map(limit)
            .collect()
    }

    /// Returns the lengths of the captions.
    fn lengths(&self) -> Lengths {
        let captions: u64 = self.captions.values().sum();
        let chars = self.captions.iter().map(|(chars, count)| chars * count);
        let chars: u64 = chars.sum();
        let ends = |found: Option<(&u64, &u64)>| found.map_or(0, |(chars, _)| *chars);
        Lengths {
            min: ends(self.captions.first_key_value()),
            mean: chars as f64 / captions.max(1) as f64,
            max: ends(self.captions.last_key_value()),
        }
    }

    fn image_sizes(&self) -> StoredSizes {
        let sides = || self.sizes.keys().flat_map(|size| [size.0, size.1]);
        let sizes = self.sizes.iter();
        let size = |(&(width, height), &count): (&(u32, u32), &u64)| StoredSize {
            width,
            height,
            count,
        };
        let mut sizes: Vec<StoredSize> = sizes.map(size).collect();
        sizes.sort_by_key(|size| std::cmp::Reverse(size.count));
        sizes.truncate(LISTED_SIZES);
        StoredSizes {
            min_side: sides().min().unwrap_or(0),
            max_side: sides().max().unwrap_or(0),
            distinct: self.sizes.len(),
            most_frequent: sizes,
        }
    }
}
