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
use super::file::{self, Entry, Stored};
use super::probe::Probe;
use super::view::{Subject, ViewSpec};
use super::with_features::WithFeatures;
use crate::data::batches::feature_rows::FeatureRows;
use crate::data::batches::image_batch::Pictures;
use crate::data::records::boxes::Region;
use crate::data::records::fault::{Broken, Fault};
use crate::data::records::picture::{Kept, Picture};
use crate::data::records::source::{Dataset, Record, Records, Unit};

/// Records per file.
const RECORDS: usize = 256;
/// Number of records decoded before their images are passed to the encoder.
const BLOCK: usize = 16;
/// Minimum time between two progress messages.
const SAY_EVERY: Duration = Duration::from_secs(10);

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
    fn encode(&self, pictures: &Pictures) -> anyhow::Result<Vec<f32>>;
}

/// Settings for precomputing features.
pub struct Keeping<'a> {
    /// The encoder.
    pub encoder: &'a dyn Encoder,
    /// Views of each image and crop.
    pub views: ViewSpec,
    /// Whether the crops of boxes are encoded too.
    pub crops: bool,
    /// Folder of the files; `None` keeps features only in memory.
    pub folder: Option<PathBuf>,
    /// Whether files are written as well as read.
    pub writes: bool,
    /// Maximum number of records; `None` for all. The others are left out of the dataset.
    pub most: Option<u64>,
    /// Set when the run is interrupted.
    pub stop: &'a AtomicBool,
}

/// Result of [`keep`].
pub struct KeptData {
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
    found: Option<Stored>,
}

struct Keeper<'a, 'b> {
    how: &'b Keeping<'a>,
    inner: &'b dyn Dataset,
    pool: ThreadPool,
    rows: FeatureRows,
    progress: Progress<'b>,
}

/// Counts of what is done, and the messages about it.
struct Progress<'b> {
    /// Number of records of the dataset.
    total: u64,
    /// Number of records before the current file.
    records_done: u64,
    /// Number of features computed.
    computed: usize,
    begun: Instant,
    last_line: Instant,
    say: &'b mut dyn FnMut(&str) -> anyhow::Result<()>,
}

impl Progress<'_> {
    /// Reports that `records` records of the current file are done, unless the last message is
    /// recent.
    fn report(&mut self, records: u64) -> anyhow::Result<()> {
        if self.last_line.elapsed() < SAY_EVERY {
            return Ok(());
        }
        self.last_line = Instant::now();
        let (records, total) = ((self.records_done + records).min(self.total), self.total);
        let rate = self.computed as f64 / self.begun.elapsed().as_secs_f64();
        (self.say)(&format!(
            "features of {records} of {total} records, {rate:.0} pictures a second"
        ))
    }
}

/// Encodes blocks as they arrive, and appends their features to those of each missing layer.
fn encode(
    blocks: Receiver<Block>,
    encoder: &dyn Encoder,
    made: &mut [Stored],
    progress: &mut Progress<'_>,
) -> anyhow::Result<()> {
    for (at, block) in blocks.into_iter().enumerate() {
        for (stored, (entries, pictures)) in made.iter_mut().zip(block) {
            progress.computed += pictures.count;
            stored.entries.extend(entries);
            if pictures.count > 0 {
                let values = encoder.encode(&pictures)?;
                stored.values.extend(values.into_iter().map(f16::from_f32));
            }
        }
        progress.report(((at + 1) * BLOCK) as u64)?;
    }
    Ok(())
}

/// Precomputes the features of a dataset. Reports progress through `say`, at most every ten
/// seconds.
///
/// # Errors
/// If the run is interrupted, a file cannot be written or the device fails. Files already written
/// are kept.
pub fn keep(
    inner: &Arc<dyn Dataset>,
    how: &Keeping<'_>,
    say: &mut dyn FnMut(&str) -> anyhow::Result<()>,
) -> anyhow::Result<KeptData> {
    let workers = how.views.augmented.workers.max(1);
    let mut keeper = Keeper {
        how,
        inner: &**inner,
        pool: ThreadPoolBuilder::new().num_threads(workers).build()?,
        rows: FeatureRows::new(how.encoder.width()),
        progress: Progress {
            total: inner.records(),
            records_done: 0,
            computed: 0,
            begun: Instant::now(),
            last_line: Instant::now(),
            say,
        },
    };
    let mut left = how.most.unwrap_or(u64::MAX);
    let (mut units, mut records) = (Vec::new(), Vec::new());
    for (at, unit) in inner.units().iter().enumerate() {
        let count = u64::from(unit.records).min(left);
        left -= count;
        units.push(Unit {
            records: u32::try_from(count).unwrap_or(u32::MAX),
            ..*unit
        });
        records.push(Arc::new(keeper.unit(at, count as usize)?));
    }
    let (rows, computed) = (Arc::new(keeper.rows), keeper.progress.computed);
    Ok(KeptData {
        data: Arc::new(WithFeatures {
            inner: Arc::clone(inner),
            units,
            records,
        }),
        rows,
        computed,
    })
}

impl Keeper<'_, '_> {
    /// Returns the records of a unit with their features.
    fn unit(&mut self, unit: usize, count: usize) -> anyhow::Result<Vec<Result<Record, Broken>>> {
        let loaded = match self.inner.load(unit) {
            Ok(loaded) if count > 0 => loaded,
            Ok(_) => return Ok(Vec::new()),
            Err(broken) => {
                self.progress.records_done += count as u64;
                return Ok(vec![Err(broken); count]);
            }
        };
        let mut kept = Vec::with_capacity(count);
        for from in (0..count).step_by(RECORDS) {
            let rows = from..count.min(from + RECORDS);
            kept.extend(self.chunk(&*loaded, rows.clone())?);
            self.progress.records_done += rows.len() as u64;
        }
        Ok(kept)
    }

    fn chunk(
        &mut self,
        loaded: &dyn Records,
        rows: std::ops::Range<usize>,
    ) -> anyhow::Result<Vec<Result<Record, Broken>>> {
        let probe = |row: usize| Probe::read(loaded, row);
        let all = rows.clone();
        let probes: Vec<Result<Probe, Broken>> = self
            .pool
            .install(|| all.into_par_iter().map(probe).collect());
        let width = self.how.encoder.width();
        let mut layers: Vec<Layer> = Vec::new();
        let subjects = [Subject::Photo, Subject::Crops];
        for subject in subjects.into_iter().take(1 + usize::from(self.how.crops)) {
            for view in 0..self.how.views.views.max(1) {
                let path = self.path(subject, view, &probes);
                let found = path
                    .as_ref()
                    .and_then(|path| Stored::read(path, rows.len(), width));
                layers.push(Layer {
                    subject,
                    view,
                    path,
                    found,
                });
            }
        }
        // The views of a subject must have rows for the same images; layers that differ are
        // recomputed.
        let views = self.how.views.views.max(1) as usize;
        for group in layers.chunks_mut(views) {
            let first = group[0].found.as_ref().map(|stored| stored.entries.clone());
            for layer in &mut *group {
                let entries = layer.found.as_ref().map(|stored| &stored.entries);
                if entries.is_some() && first.is_some() && entries != first.as_ref() {
                    layer.found = None;
                }
            }
        }
        if layers.iter().any(|layer| layer.found.is_none()) {
            self.compute(loaded, &rows, &probes, &mut layers)?;
        }
        let mut records = Vec::with_capacity(probes.len());
        for probe in probes {
            records.push(probe.map(|probe| probe.record));
        }
        for group in layers.chunks(views) {
            self.place(group, &mut records)?;
        }
        Ok(records)
    }

    /// Returns the path of a layer: a hash of everything that its features depend on.
    fn path(
        &self,
        subject: Subject,
        view: u32,
        probes: &[Result<Probe, Broken>],
    ) -> Option<PathBuf> {
        let folder = self.how.folder.as_ref()?;
        let settings = self.how.views.key(subject, view);
        let content = |probe: &Result<Probe, Broken>| match probe {
            Ok(probe) => probe.content.key(subject),
            Err(_) => b"broken".to_vec(),
        };
        let contents: Vec<Vec<u8>> = probes.iter().map(content).collect();
        let parts = [self.how.encoder.identity().as_bytes(), settings.as_bytes()];
        let contents = contents.iter().map(Vec::as_slice);
        Some(file::path(folder, parts.into_iter().chain(contents)))
    }

    /// Decodes on worker threads, encodes on this thread, and writes a file for each missing layer.
    fn compute(
        &mut self,
        loaded: &dyn Records,
        rows: &std::ops::Range<usize>,
        probes: &[Result<Probe, Broken>],
        layers: &mut [Layer],
    ) -> anyhow::Result<()> {
        let missing: Vec<(Subject, u32)> = layers
            .iter()
            .filter(|layer| layer.found.is_none())
            .map(|layer| (layer.subject, layer.view))
            .collect();
        let mut made: Vec<Stored> = missing
            .iter()
            .map(|_| Stored {
                entries: Vec::new(),
                values: Vec::new(),
            })
            .collect();
        let decoder = BlockDecoder {
            loaded,
            views: &self.how.views,
            crops: self.how.crops,
            missing: &missing,
            pool: &self.pool,
        };
        let (encoder, stop) = (self.how.encoder, self.how.stop);
        let (send, receive) = sync_channel::<Block>(2);
        let (decoder, progress) = (&decoder, &mut self.progress);
        thread::scope(|scope| -> anyhow::Result<()> {
            scope.spawn(move || {
                let blocks = probes.chunks(BLOCK).enumerate();
                for (at, probes) in blocks.map(|(at, p)| (rows.start + at * BLOCK, p)) {
                    // The receiver is dropped when the encoding side fails.
                    if stop.load(Ordering::Relaxed) || send.send(decoder.block(at, probes)).is_err()
                    {
                        return;
                    }
                }
            });
            encode(receive, encoder, &mut made, progress)
        })?;
        if stop.load(Ordering::Relaxed) && made.iter().any(|s| s.entries.len() < probes.len()) {
            bail!(
                "interrupted after the features of {} of {} records; they are kept, and the same \
                 command continues there",
                self.progress.records_done,
                self.progress.total
            );
        }
        let empty = layers.iter_mut().filter(|layer| layer.found.is_none());
        for (layer, stored) in empty.zip(made) {
            if let (Some(path), true) = (&layer.path, self.how.writes) {
                stored.write(path, encoder.width())?;
            }
            layer.found = Some(stored);
        }
        Ok(())
    }

    /// Copies the rows of all views of a subject into memory and references them in the records.
    fn place(
        &mut self,
        group: &[Layer],
        records: &mut [Result<Record, Broken>],
    ) -> anyhow::Result<()> {
        let stored: Vec<&Stored> = group.iter().filter_map(|l| l.found.as_ref()).collect();
        let subject = group[0].subject;
        let (width, views) = (self.how.encoder.width(), stored.len());
        let items = stored[0].values.len() / width;
        let mut values = Vec::with_capacity(items * views * width);
        for item in 0..items {
            for view in &stored {
                let row = view.values.get(item * width..(item + 1) * width);
                values.extend_from_slice(row.context("kept features: a view lacks a row")?);
            }
        }
        let mut next = self.rows.push(values);
        for (entry, record) in stored[0].entries.iter().zip(records) {
            let items = match entry {
                Entry::Rows(items) => items,
                Entry::Broken(cause, detail) => {
                    if let Ok(found) = record {
                        *record = Err(Fault::new(*cause, detail.clone()).of(found.key.clone()));
                    }
                    continue;
                }
            };
            let mut take = || {
                let first = u32::try_from(next).unwrap_or(u32::MAX);
                next += views;
                Picture::Kept(Kept {
                    first,
                    views: views as u32,
                })
            };
            let Ok(record) = record else { continue };
            match subject {
                Subject::Photo => items.iter().for_each(|_| record.picture = take()),
                Subject::Crops => {
                    let boxes = std::mem::take(&mut record.boxes);
                    record.boxes = (0_u32..)
                        .zip(boxes)
                        .filter(|(at, _)| items.contains(at))
                        .map(|(_, mut one)| {
                            one.region = Region::Crop(take());
                            one
                        })
                        .collect();
                }
            }
        }
        Ok(())
    }
}
