//! `trainer data audit`: reads all records including their images, and reports statistics.

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use rayon::prelude::*;

pub use super::audit_report::{
    AuditReport, BrokenByCause, Labels, Lengths, SizeLimit, StoredSize, StoredSizes,
};
use crate::records::boxes::{BoxTally, Region, default_min_box_px, large_enough, pixel_box};
use crate::records::error::{DataError, Result};
use crate::records::fault::{Broken, BrokenCounts};
use crate::records::source::{Dataset, Record, Records};
use crate::records::walk::LeftOut;

/// Rows per task: large enough to outweigh the overhead of a task, small enough for load balancing.
const TASK_ROWS: usize = 64;
/// Maximum number of image sizes that are listed individually.
const LISTED_SIZES: usize = 10;

/// Model input sizes for which the limits are reported: that of the papers and prepared shards, and that of the small
/// preset.
const MODEL_SIZES: [u32; 2] = [224, 64];

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
    captions: u64,
    chars: u64,
    chars_min: Option<u64>,
    chars_max: u64,
    labels: BTreeMap<String, u64>,
    sizes: BTreeMap<(u32, u32), u64>,
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
    let shards: HashSet<u32> = units.iter().map(|unit| unit.shard).collect();
    DataError::check_storage(&total.counts)?;
    Ok(AuditReport {
        left_out: dataset.left_out(),
        ..total.report(shards.len(), units.len())
    })
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
    fn count(&mut self, record: &Record) -> Result<(), crate::records::fault::Fault> {
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
            let below = record
                .boxes
                .iter()
                .filter(|grounded| match grounded.region {
                    Region::Relative(rel) => {
                        let limit = default_min_box_px(model_px);
                        !large_enough(pixel_box(rel, width, height), limit)
                    }
                    Region::Crop(_) => false,
                })
                .count();
            limit.0 += below as u64;
            limit.1 += u64::from(below == record.boxes.len());
        }
        for caption in record.captions() {
            let chars = caption.chars().count() as u64;
            self.captions += 1;
            self.chars += chars;
            self.chars_min = Some(self.chars_min.map_or(chars, |least| least.min(chars)));
            self.chars_max = self.chars_max.max(chars);
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
        self.captions += later.captions;
        self.chars += later.chars;
        self.chars_min = match (self.chars_min, later.chars_min) {
            (Some(own), Some(other)) => Some(own.min(other)),
            (own, other) => own.or(other),
        };
        self.chars_max = self.chars_max.max(later.chars_max);
        for (label, count) in later.labels {
            *self.labels.entry(label).or_default() += count;
        }
        for (size, count) in later.sizes {
            *self.sizes.entry(size).or_default() += count;
        }
        // Phrase hashes repeat often; compact the list so that it does not grow with the number of
        // records.
        if self.phrases.len() > 1 << 20 {
            self.phrases.sort_unstable();
            self.phrases.dedup();
        }
    }

    fn report(mut self, shards: usize, units: usize) -> AuditReport {
        self.phrases.sort_unstable();
        self.phrases.dedup();
        let keys = self.keys.len();
        self.keys.sort_unstable();
        self.keys.dedup();
        AuditReport {
            shards,
            units,
            records: self.counts.seen,
            broken: self.counts.broken(),
            broken_by_cause: self.broken_by_cause(),
            left_out: LeftOut::new(),
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
        self.counts
            .by_cause
            .iter()
            .map(|(cause, count)| BrokenByCause {
                cause: cause.to_string(),
                count: count.clone(),
            })
            .collect()
    }

    fn size_limits(&self) -> Vec<SizeLimit> {
        MODEL_SIZES
            .iter()
            .zip(self.limits)
            .map(
                |(&model_px, (boxes_below, records_without_box))| SizeLimit {
                    model_px,
                    min_box_px: default_min_box_px(model_px),
                    boxes_below,
                    records_without_box,
                },
            )
            .collect()
    }

    /// Returns the lengths of the captions.
    fn lengths(&self) -> Lengths {
        Lengths {
            min: self.chars_min.unwrap_or(0),
            mean: if self.captions == 0 {
                0.0
            } else {
                self.chars as f64 / self.captions as f64
            },
            max: self.chars_max,
        }
    }

    fn image_sizes(&self) -> StoredSizes {
        let sides = || {
            self.sizes
                .keys()
                .flat_map(|&(width, height)| [width, height])
        };
        let mut sizes: Vec<StoredSize> = self
            .sizes
            .iter()
            .map(|(&(width, height), &count)| StoredSize {
                width,
                height,
                count,
            })
            .collect();
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
