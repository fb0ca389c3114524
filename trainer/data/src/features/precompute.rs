//! A dataset in which precomputed features replace the images.
//!
//! Features that are in the cache folder are read from it. The others are computed and written
//! there, one file per few hundred records, so that an interrupted run does not have to repeat its
//! work.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use half::f16;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::blocks::{Block, BlockDecoder};
use super::content::HashedRecord;
use super::feature_dataset::FeatureDataset;
use super::file::{self, Entry, FeatureFile};
use super::view::{Subject, ViewSpec};
use crate::batches::feature_rows::FeatureRows;
use crate::batches::image_batch::Pixels;
use crate::records::boxes::Region;
use crate::records::error::DataError;
use crate::records::fault::{Broken, Fault};
use crate::records::record_image::{FeatureRange, RecordImage};
use crate::records::source::{Dataset, Record, Records, Unit};

/// Records per file.
const RECORDS: usize = 256;
/// Number of records decoded before their images are passed to the encoder.
const BLOCK: usize = 16;
/// Minimum time between two progress messages.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// The frozen image encoder.
pub trait Encoder: Sync {
    /// Returns the number of values of a feature.
    fn width(&self) -> usize;

    /// Returns a hash of the weights; equal for encoders that compute the same features.
    fn identity(&self) -> &str;

    /// Computes the pooled features of images, `[count, width]` row by row.
    ///
    /// # Errors
    /// When the device fails.
    fn encode(&self, images: &Pixels) -> anyhow::Result<Vec<f32>>;
}

/// Settings for precomputing features.
pub struct PrecomputeSettings<'a> {
    /// The encoder.
    pub encoder: &'a dyn Encoder,
    /// Views of each image and crop.
    pub views: ViewSpec,
    /// Whether the crops of boxes are encoded too.
    pub crops: bool,
    /// Folder of the files; `None` keeps features only in memory.
    pub folder: Option<PathBuf>,
    /// Maximum number of records, to which the dataset is truncated; files are then read, but not
    /// written. `None` for all records.
    pub max_records: Option<u64>,
    /// Set when the run is interrupted.
    pub stop: &'a AtomicBool,
}

/// Result of [`precompute`].
pub struct PrecomputedFeatures {
    /// The dataset; its records have features instead of images.
    pub data: Arc<dyn Dataset>,
    /// The features.
    pub rows: Arc<FeatureRows>,
    /// Number of features computed in this call; the others were read from files.
    pub computed: usize,
}

/// One file: a view of the photos or of the crops of some records.
struct Layer {
    subject: Subject,
    view: u32,
    path: Option<PathBuf>,
    stored: Option<FeatureFile>,
}

struct Precomputer<'a, 'b> {
    settings: &'b PrecomputeSettings<'a>,
    inner: &'b dyn Dataset,
    /// The unit that is read.
    unit: usize,
    pool: ThreadPool,
    rows: FeatureRows,
    progress: Progress<'b>,
}

/// Progress counts, and where they are logged.
struct Progress<'b> {
    /// Number of records in the dataset.
    total: u64,
    /// Number of records before the current file.
    records_done: u64,
    /// Number of features computed.
    computed: usize,
    started: Instant,
    last_message: Instant,
    log: &'b mut dyn FnMut(&str) -> anyhow::Result<()>,
}

impl Progress<'_> {
    /// Reports that `records` records of the current file are done, unless the last message is
    /// recent.
    fn report(&mut self, records: u64) -> anyhow::Result<()> {
        if self.last_message.elapsed() < LOG_INTERVAL {
            return Ok(());
        }
        self.last_message = Instant::now();
        let (records, total) = ((self.records_done + records).min(self.total), self.total);
        let rate = self.computed as f64 / self.started.elapsed().as_secs_f64();
        (self.log)(&format!(
            "features of {records} of {total} records, {rate:.0} images per second"
        ))
    }
}

/// Encodes blocks as they arrive, and appends their features to those of each missing layer.
fn encode(
    blocks: Receiver<Block>,
    encoder: &dyn Encoder,
    files: &mut [FeatureFile],
    progress: &mut Progress<'_>,
) -> anyhow::Result<()> {
    for (at, block) in blocks.into_iter().enumerate() {
        for (stored, (entries, images)) in files.iter_mut().zip(block) {
            progress.computed += images.count;
            stored.entries.extend(entries);
            if images.count > 0 {
                let values = encoder.encode(&images)?;
                stored.values.extend(values.into_iter().map(f16::from_f32));
            }
        }
        progress.report(((at + 1) * BLOCK) as u64)?;
    }
    Ok(())
}

/// Precomputes the features of a dataset. Reports progress through `log`, at most every ten
/// seconds.
///
/// # Errors
/// If the run is interrupted, a file cannot be written or the device fails. Files already written
/// are kept.
pub fn precompute(
    inner: &Arc<dyn Dataset>,
    settings: &PrecomputeSettings<'_>,
    log: &mut dyn FnMut(&str) -> anyhow::Result<()>,
) -> anyhow::Result<PrecomputedFeatures> {
    let workers = settings.views.augmented.workers.max(1);
    let mut precomputer = Precomputer {
        settings,
        inner: &**inner,
        unit: 0,
        pool: ThreadPoolBuilder::new().num_threads(workers).build()?,
        rows: FeatureRows::new(settings.encoder.width()),
        progress: Progress {
            total: inner.records(),
            records_done: 0,
            computed: 0,
            started: Instant::now(),
            last_message: Instant::now(),
            log,
        },
    };
    let mut left = settings.max_records.unwrap_or(u64::MAX);
    let (mut units, mut records) = (Vec::new(), Vec::new());
    for (at, unit) in inner.units().iter().enumerate() {
        let count = u64::from(unit.records).min(left);
        left -= count;
        units.push(Unit {
            records: u32::try_from(count).unwrap_or(u32::MAX),
            ..*unit
        });
        records.push(Arc::new(precomputer.read_unit(at, count as usize)?));
    }
    let (rows, computed) = (Arc::new(precomputer.rows), precomputer.progress.computed);
    Ok(PrecomputedFeatures {
        data: Arc::new(FeatureDataset {
            inner: Arc::clone(inner),
            units,
            records,
        }),
        rows,
        computed,
    })
}

impl Precomputer<'_, '_> {
    /// Returns the records of a unit with their features.
    fn read_unit(
        &mut self,
        unit: usize,
        count: usize,
    ) -> anyhow::Result<Vec<Result<Record, Broken>>> {
        self.unit = unit;
        let loaded = match self.inner.load(unit) {
            Ok(loaded) if count > 0 => loaded,
            Ok(_) => return Ok(Vec::new()),
            Err(broken) => {
                self.check(&broken)?;
                self.progress.records_done += count as u64;
                return Ok(vec![Err(broken); count]);
            }
        };
        let mut records = Vec::with_capacity(count);
        for from in (0..count).step_by(RECORDS) {
            let rows = from..count.min(from + RECORDS);
            records.extend(self.read_chunk(&*loaded, rows.clone())?);
            self.progress.records_done += rows.len() as u64;
        }
        Ok(records)
    }

    /// Checks that storage has not failed: features that lack a record for this reason must not be
    /// kept.
    fn check(&self, broken: &Broken) -> Result<(), DataError> {
        let shard = self.inner.units()[self.unit].shard;
        DataError::check_record(self.inner.shard_name(shard), broken)
    }

    fn read_chunk(
        &mut self,
        loaded: &dyn Records,
        rows: std::ops::Range<usize>,
    ) -> anyhow::Result<Vec<Result<Record, Broken>>> {
        let hashed = |row: usize| HashedRecord::read(loaded, row);
        let all = rows.clone();
        let hashed_records: Vec<Result<HashedRecord, Broken>> = self
            .pool
            .install(|| all.into_par_iter().map(hashed).collect());
        for hashed in &hashed_records {
            if let Err(broken) = hashed {
                self.check(broken)?;
            }
        }
        let width = self.settings.encoder.width();
        let mut layers: Vec<Layer> = Vec::new();
        let subjects: &[Subject] = match self.settings.crops {
            true => &[Subject::Photo, Subject::Crops],
            false => &[Subject::Photo],
        };
        for &subject in subjects {
            for view in 0..self.settings.views.views.max(1) {
                let path = self.path(subject, view, &hashed_records);
                let read = |path: &PathBuf| FeatureFile::read(path, rows.len(), width);
                let stored = path.as_ref().and_then(read);
                layers.push(Layer {
                    subject,
                    view,
                    path,
                    stored,
                });
            }
        }
        // The views of a subject must have rows for the same images; layers that differ are
        // recomputed.
        let views = self.settings.views.views.max(1) as usize;
        for group in layers.chunks_mut(views) {
            if let Some((first, others)) = group.split_first_mut()
                && let Some(first) = &first.stored
            {
                for Layer { stored, .. } in others {
                    stored.take_if(|stored| stored.entries != first.entries);
                }
            }
        }
        if layers.iter().any(|layer| layer.stored.is_none()) {
            self.compute(loaded, &rows, &hashed_records, &mut layers)?;
        }
        let records = hashed_records.into_iter();
        let mut records: Vec<_> = records.map(|r| r.map(|hashed| hashed.record)).collect();
        for group in layers.chunks(views) {
            self.attach(group, &mut records)?;
        }
        Ok(records)
    }

    /// Returns the path of a layer: a hash of everything that its features depend on.
    fn path(
        &self,
        subject: Subject,
        view: u32,
        hashed_records: &[Result<HashedRecord, Broken>],
    ) -> Option<PathBuf> {
        let folder = self.settings.folder.as_ref()?;
        let settings = self.settings.views.key(subject, view);
        let content = |hashed: &Result<HashedRecord, Broken>| match hashed {
            Ok(hashed) => hashed.content.key(subject),
            Err(_) => b"broken".to_vec(),
        };
        let contents: Vec<Vec<u8>> = hashed_records.iter().map(content).collect();
        let identity = self.settings.encoder.identity();
        let parts = [identity, &settings].map(str::as_bytes).into_iter();
        let contents = contents.iter().map(Vec::as_slice);
        Some(file::path(folder, parts.chain(contents)))
    }

    /// Decodes on worker threads, encodes on this thread, and writes a file for each missing layer.
    fn compute(
        &mut self,
        loaded: &dyn Records,
        rows: &std::ops::Range<usize>,
        hashed: &[Result<HashedRecord, Broken>],
        layers: &mut [Layer],
    ) -> anyhow::Result<()> {
        let missing: Vec<(Subject, u32)> = layers
            .iter()
            .filter(|layer| layer.stored.is_none())
            .map(|layer| (layer.subject, layer.view))
            .collect();
        let mut files = vec![FeatureFile::default(); missing.len()];
        let decoder = BlockDecoder {
            loaded,
            views: &self.settings.views,
            crops: self.settings.crops,
            missing: &missing,
            pool: &self.pool,
        };
        let (encoder, stop) = (self.settings.encoder, self.settings.stop);
        let (send, receive) = sync_channel::<Block>(2);
        let (decoder, progress) = (&decoder, &mut self.progress);
        thread::scope(|scope| -> anyhow::Result<()> {
            scope.spawn(move || {
                let starts = (rows.start..).step_by(BLOCK);
                for (at, hashed) in starts.zip(hashed.chunks(BLOCK)) {
                    // The receiver is dropped when the encoding side fails.
                    if stop.load(Ordering::Relaxed) || send.send(decoder.block(at, hashed)).is_err()
                    {
                        return;
                    }
                }
            });
            encode(receive, encoder, &mut files, progress)
        })?;
        if stop.load(Ordering::Relaxed) && files.iter().any(|s| s.entries.len() < hashed.len()) {
            bail!(
                "interrupted after the features of {} of {} records; they are saved, and the same \
                 command continues from there",
                self.progress.records_done,
                self.progress.total
            );
        }
        for entry in files.iter().flat_map(|file| &file.entries) {
            if let Entry::Broken(cause, detail) = entry {
                self.check(&Fault::new(*cause, detail.clone()).of(""))?;
            }
        }
        let incomplete = layers.iter_mut().filter(|layer| layer.stored.is_none());
        for (layer, stored) in incomplete.zip(files) {
            if let (Some(path), None) = (&layer.path, self.settings.max_records) {
                stored.write(path, encoder.width())?;
            }
            layer.stored = Some(stored);
        }
        Ok(())
    }

    /// Copies the rows of all views of a subject into memory and references them in the records.
    fn attach(
        &mut self,
        group: &[Layer],
        records: &mut [Result<Record, Broken>],
    ) -> anyhow::Result<()> {
        let stored: Vec<&FeatureFile> = group.iter().filter_map(|l| l.stored.as_ref()).collect();
        let subject = group[0].subject;
        let (width, views) = (self.settings.encoder.width(), stored.len());
        let items = stored[0].values.len() / width;
        let mut values = Vec::with_capacity(items * views * width);
        for item in 0..items {
            for view in &stored {
                let row = view.values.get(item * width..(item + 1) * width);
                values.extend_from_slice(row.context("cached features: a view lacks a row")?);
            }
        }
        let mut next = self.rows.push(values);
        for (entry, record) in stored[0].entries.iter().zip(records) {
            let items = match entry {
                Entry::Rows(items) => items,
                Entry::Broken(cause, detail) => {
                    if let Ok(readable) = record {
                        *record = Err(Fault::new(*cause, detail.clone()).of(readable.key.clone()));
                    }
                    continue;
                }
            };
            let mut next_rows = || {
                let first = u32::try_from(next).unwrap_or(u32::MAX);
                next += views;
                RecordImage::Features(FeatureRange {
                    first,
                    views: views as u32,
                })
            };
            let Ok(record) = record else { continue };
            match subject {
                Subject::Photo => items.iter().for_each(|_| record.image = next_rows()),
                Subject::Crops => {
                    let boxes = std::mem::take(&mut record.boxes);
                    record.boxes = (0_u32..)
                        .zip(boxes)
                        .filter(|(at, _)| items.contains(at))
                        .map(|(_, mut grounded)| {
                            grounded.region = Region::Crop(next_rows());
                            grounded
                        })
                        .collect();
                }
            }
        }
        Ok(())
    }
}
