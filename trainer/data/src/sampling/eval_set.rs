//! Iterates over all samples of a dataset in file order, for evaluation: no shuffling, no
//! augmentation.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread;

use espalier_core::input::Preprocess;
use image::RgbImage;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::batches::image_batch::Pixels;
use crate::records::boxes::{GroundedBox, Region};
use crate::records::error::{DataError, Result};
use crate::records::fault::{Broken, BrokenCounts};
use crate::records::record_image::RecordImage;
use crate::records::source::{Dataset, Record, Records};
use crate::sampling::regions::preprocessed;

/// Images of an evaluation batch with their keys, texts and labels.
#[derive(Clone, Debug, Default)]
pub struct EvalBatch {
    /// Preprocessed images, `[b, 3, s, s]`.
    pub images: Pixels,
    /// Keys of the records.
    pub keys: Vec<String>,
    /// Captions.
    pub captions: Vec<String>,
    /// Further captions of each image.
    pub more_captions: Vec<Vec<String>>,
    /// Phrases of the boxes, noun chunks first.
    pub phrases: Vec<Vec<String>>,
    /// Synset of the largest box that has one, the first of equally large ones; for an image
    /// without boxes, its first label.
    pub labels: Vec<Option<String>>,
}

/// Iterates over a dataset once, batch by batch, in file order.
///
/// Broken records are skipped and counted; see [`EvalSet::counts`]. All batches but the last are
/// full. Their contents do not depend on the number of workers.
pub struct EvalSet {
    dataset: Arc<dyn Dataset>,
    preprocess: Preprocess,
    batch_size: usize,
    pool: ThreadPool,
    unit: usize,
    row: u32,
    /// Records of this part that are still to be read.
    left: usize,
    loaded: Option<Result<Box<dyn Records>, Broken>>,
    counts: BrokenCounts,
}

/// A record without its image, and the image preprocessed for the model.
type Prepared = (Record, RgbImage);

impl EvalSet {
    /// Starts at the first record.
    ///
    /// # Errors
    /// If `batch_size` is 0 or the threads cannot be started.
    pub fn new(
        dataset: Arc<dyn Dataset>,
        preprocess: Preprocess,
        batch_size: usize,
        workers: usize,
    ) -> Result<Self> {
        if batch_size == 0 {
            return Err(DataError::setting("batch size", "at least 1", batch_size));
        }
        let pool = ThreadPoolBuilder::new()
            .num_threads(workers.max(1))
            .build()
            .map_err(|e| DataError::Worker(e.to_string()))?;
        Ok(Self {
            dataset,
            preprocess,
            batch_size,
            pool,
            unit: 0,
            row: 0,
            left: usize::MAX,
            loaded: None,
            counts: BrokenCounts::default(),
        })
    }

    /// Reads only `count` records from number `from` on, broken ones included.
    pub fn part(mut self, from: usize, count: usize) -> Self {
        let mut skipped = from;
        self.unit = 0;
        for unit in self.dataset.units() {
            let records = unit.records as usize;
            if skipped < records {
                break;
            }
            skipped -= records;
            self.unit += 1;
        }
        self.row = u32::try_from(skipped).unwrap_or(u32::MAX);
        self.left = count;
        self
    }

    /// Calls `work` with all batches, each of which is read while `work` uses the one before. Returns its result and
    /// the counts of records; with batches that `work` did not take, the counts include what was read ahead.
    pub fn read_ahead<T>(
        mut self,
        work: impl FnOnce(&mut dyn Iterator<Item = EvalBatch>) -> T,
    ) -> (T, BrokenCounts) {
        thread::scope(|scope| {
            let (sender, receiver) = sync_channel(1);
            let reader = scope.spawn(move || {
                for batch in self.by_ref() {
                    if sender.send(batch).is_err() {
                        break;
                    }
                }
                self.counts
            });
            let result = work(&mut receiver.into_iter());
            let counts = reader.join();
            (result, counts.unwrap_or_else(|panic| resume_unwind(panic)))
        })
    }

    /// Returns the counts of records read and skipped so far.
    pub fn counts(&self) -> &BrokenCounts {
        &self.counts
    }

    /// Fails if more than `max_broken` of the records seen so far are broken. Call it at the end.
    ///
    /// # Errors
    /// [`DataError::TooManyBroken`], [`DataError::Storage`].
    pub fn check_broken(&self, max_broken: f64) -> Result<()> {
        DataError::check_storage(&self.counts)?;
        DataError::check_broken(&self.counts, max_broken)
    }

    /// Prepares the next records of the current unit, at most `limit`.
    fn advance(&mut self, limit: usize, into: &mut Vec<Prepared>) {
        let unit = self.dataset.units()[self.unit];
        if self.loaded.is_none() {
            self.loaded = Some(self.dataset.load(self.unit));
        }
        let Some(loaded) = &self.loaded else { return };
        let limit = u32::try_from(limit).unwrap_or(u32::MAX);
        let end = unit.records.min(self.row.saturating_add(limit));
        let preprocess = &self.preprocess;
        let prepare_row = |row: u32| prepare(loaded.read(row as usize)?, preprocess);
        let prepared: Vec<Result<Prepared, Broken>> = self
            .pool
            .install(|| (self.row..end).into_par_iter().map(prepare_row).collect());
        self.counts.seen += prepared.len() as u64;
        self.left -= prepared.len();
        for result in prepared {
            match result {
                Ok(sample) => into.push(sample),
                Err(broken) => self
                    .counts
                    .add(self.dataset.shard_name(unit.shard), &broken),
            }
        }
        self.row = end;
        if end == unit.records {
            self.unit += 1;
            self.row = 0;
            self.loaded = None;
        }
    }
}

impl Iterator for EvalSet {
    type Item = EvalBatch;

    fn next(&mut self) -> Option<EvalBatch> {
        let mut samples: Vec<Prepared> = Vec::with_capacity(self.batch_size);
        while samples.len() < self.batch_size
            && self.left > 0
            && self.unit < self.dataset.units().len()
        {
            let most = self.left.min(self.batch_size - samples.len());
            self.advance(most, &mut samples);
        }
        if samples.is_empty() {
            return None;
        }
        let images: Vec<&RgbImage> = samples.iter().map(|(_, image)| image).collect();
        let mut batch = EvalBatch {
            images: Pixels::pack(self.preprocess.size, &images),
            ..EvalBatch::default()
        };
        for (record, _) in samples {
            batch.labels.push(label(&record));
            batch.keys.push(record.key);
            batch.captions.push(record.caption);
            batch.more_captions.push(record.more_captions);
            let phrases = record.boxes.into_iter().map(|b| b.phrase);
            batch.phrases.push(phrases.collect());
        }
        Some(batch)
    }
}

fn prepare(mut record: Record, preprocess: &Preprocess) -> Result<Prepared, Broken> {
    let image = std::mem::replace(&mut record.image, RecordImage::None).decode();
    match image.and_then(|image| preprocessed(&image, preprocess)) {
        Ok(image) => Ok((record, image)),
        Err(fault) => Err(fault.of(record.key)),
    }
}

/// Returns the synset of the largest box that has one, the first of equally large ones; for a record
/// without boxes, its first label.
fn label(Record { boxes, synsets, .. }: &Record) -> Option<String> {
    if boxes.is_empty() {
        return synsets.first().cloned();
    }
    let area = |candidate: &GroundedBox| match candidate.region {
        Region::Relative([x1, y1, x2, y2]) => (x2 - x1) * (y2 - y1),
        Region::Crop(_) => 0.0,
    };
    let mut best: Option<(f64, &String)> = None;
    for candidate in boxes {
        if let Some(synset) = &candidate.synset
            && best.is_none_or(|(largest, _)| area(candidate) > largest)
        {
            best = Some((area(candidate), synset));
        }
    }
    best.map(|(_, synset)| synset.clone())
}

#[cfg(test)]
mod tests {
    use espalier_core::input::ResizeMode;

    use super::*;
    use crate::Synthetic;

    fn set(records: u64) -> EvalSet {
        let data: Arc<dyn Dataset> = Arc::new(Synthetic::new(records, 32, 1));
        let preprocess = Preprocess::new(16, ResizeMode::CentreCrop);
        EvalSet::new(data, preprocess, 70, 2).unwrap()
    }

    fn keys(set: EvalSet) -> Vec<String> {
        set.flat_map(|batch| batch.keys).collect()
    }

    #[test]
    fn a_part_has_the_records_that_it_names() {
        let all = keys(set(600));
        assert_eq!(all.len(), 600);
        let whole_and_ends = [(0, 600), (0, 1), (5, 0), (599, 9)];
        let across_units = [(250, 20), (255, 1), (256, 100)];
        for (from, count) in whole_and_ends.into_iter().chain(across_units) {
            let expected = &all[from..(from + count).min(600)];
            let found = keys(set(600).part(from, count));
            assert_eq!(found, expected, "{from}, {count}");
        }
    }

    #[test]
    fn all_batches_but_the_last_are_full_and_none_is_broken() {
        let mut set = set(150);
        let sizes: Vec<usize> = set.by_ref().map(|batch| batch.images.count).collect();
        assert_eq!(sizes, [70, 70, 10]);
        assert_eq!(set.counts().seen, 150);
        set.check_broken(0.0).unwrap();
    }

    #[test]
    fn batches_that_are_read_ahead_are_the_same() {
        let (found, counts) =
            set(600).read_ahead(|batches| batches.flat_map(|b| b.keys).collect::<Vec<String>>());
        assert_eq!(found, keys(set(600)));
        assert_eq!(counts.seen, 600);
        let (first, counts) = set(600).read_ahead(|batches| batches.next().map(|b| b.images.count));
        assert_eq!(first, Some(70));
        assert!(counts.seen < 600, "{}", counts.seen);
    }

    #[test]
    fn the_label_is_that_of_the_largest_box_that_has_one() {
        let labelled = |region: [f64; 4], synset: Option<&str>| {
            let label = synset.map(str::to_owned);
            GroundedBox::new("a thing", Region::Relative(region), label)
        };
        let wide = labelled([0.5, 0.5, 0.9, 0.75], Some("wide"));
        let tall = labelled([0.7, 0.1, 0.8, 0.9], Some("tall"));
        let twin = labelled([0.1, 0.5, 0.5, 0.75], Some("twin"));
        let square = labelled([0.0, 0.0, 0.35, 0.35], Some("square"));
        let unknown = labelled([0.0, 0.0, 1.0, 1.0], None);
        let of = |boxes: &[&GroundedBox]| {
            let mut record = Record::labelled("a".into(), RecordImage::None, None, "");
            record.synsets.push("own".to_owned());
            record.boxes = boxes.iter().map(|b| (*b).clone()).collect();
            label(&record)
        };
        assert_eq!(of(&[]).as_deref(), Some("own"));
        assert_eq!(of(&[&tall, &wide, &unknown]).as_deref(), Some("wide"));
        let first = of(&[&wide, &twin]);
        assert_eq!(first.as_deref(), Some("wide"), "of equally large ones");
        assert_eq!(of(&[&wide, &square, &tall]).as_deref(), Some("square"));
        assert_eq!(of(&[&unknown]), None);
    }
}
