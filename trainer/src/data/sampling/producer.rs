//! The thread that makes batches.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, OnceLock};
use std::thread::{Builder, JoinHandle};

use espalier_core::input::Tokenizer;
use rayon::ThreadPool;
use rayon::prelude::*;

use crate::config::Needs;
use crate::data::batches::batch::{Batch, ImageRows};
use crate::data::batches::batch_spec::BatchSpec;
use crate::data::formats::companions::Companions;
use crate::data::records::error::{DataError, Result};
use crate::data::records::fault::{Broken, BrokenCounts, panic_message};
use crate::data::records::order::{EpochOrder, Group, Position, Slot};
use crate::data::records::random::{Purpose, Random};
use crate::data::records::source::{Dataset, Record, Records};
use crate::data::sampling::draw::{Detail, DrawResult, Sample, View, companion, draw};
use crate::data::sampling::pack;
use crate::ranks::share;

/// Broken records are checked against the limit once this many were seen, and at the end of an
/// epoch.
const MIN_RECORDS_FOR_CHECK: u64 = 200;
/// Number of consecutive unusable records after which the stream stops with an error.
const MAX_UNUSABLE_IN_A_ROW: u64 = 10_000;

/// A batch with the state before it, and whether it lacks an image of this process.
pub(super) type Made = (Batch, Progress, bool);

/// What a stream has read, as far as the next batch depends on it.
#[derive(Clone)]
pub(super) struct Progress {
    pub(super) position: Position,
    /// Counts since the start of the stream.
    pub(super) counts: BrokenCounts,
    /// Whether this epoch was read from its first record.
    pub(super) whole_epoch: bool,
    pub(super) samples_in_epoch: u64,
    pub(super) batches_in_epoch: u64,
    /// Records since the last usable one.
    pub(super) unusable_in_a_row: u64,
}

/// A record, or why it cannot be used.
type RecordResult = std::result::Result<Record, Broken>;

/// A unit, loaded by the first worker that needs it.
type Loaded = OnceLock<Result<Box<dyn Records>, Broken>>;

/// The group of units currently being read.
pub(super) struct OpenGroup {
    number: usize,
    slots: Vec<Slot>,
    units: Vec<Loaded>,
    /// Boxes by label, where the method trains on boxes of other images.
    companions: Companions,
}

impl OpenGroup {
    /// Reads a record of the group; its unit is loaded when its first record is read.
    fn read(&self, slot: Slot, group: &Group, dataset: &dyn Dataset) -> RecordResult {
        let member = slot.member as usize;
        let load = || dataset.load(group.units[member] as usize);
        match self.units[member].get_or_init(load) {
            Ok(records) => records.read(slot.row as usize),
            Err(broken) => Err(broken.clone()),
        }
    }
}

/// The thread that fetches the units of the next group; it has ended when this is dropped.
#[derive(Default)]
pub(super) struct Ahead(Option<JoinHandle<()>>);

impl Drop for Ahead {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            // A unit that could not be fetched is fetched when it is read.
            let _ = thread.join();
        }
    }
}

/// Draws and packs batches in the order of the epoch.
pub(super) struct Producer {
    pub(super) dataset: Arc<dyn Dataset>,
    pub(super) tokenizer: Arc<Tokenizer>,
    pub(super) spec: BatchSpec,
    pub(super) pool: ThreadPool,
    pub(super) order: EpochOrder,
    pub(super) progress: Progress,
    pub(super) group: Option<OpenGroup>,
    pub(super) ahead: Ahead,
    /// Whether the next batch is made with all images decoded.
    pub(super) redo: bool,
    /// Whether an image of this process in the batch that is being made cannot be decoded.
    pub(super) incomplete: bool,
    pub(super) stop: Arc<AtomicBool>,
}

impl Producer {
    /// Sends batches until the stream is dropped or a batch fails.
    pub(super) fn send_to(mut self, batches: &SyncSender<Result<Made>>) {
        loop {
            // A panic must reach the consumer; if the thread just ended, it would look like the end
            // of the data.
            let next = catch_unwind(AssertUnwindSafe(|| self.next_batch()))
                .unwrap_or_else(|panic| Err(DataError::Worker(panic_message(&*panic))));
            let Some(next) = next.transpose() else { return };
            let ends = next.is_err();
            if batches.send(next).is_err() || ends {
                return;
            }
        }
    }

    /// Makes the next full batch; `None` when the stream was dropped.
    fn next_batch(&mut self) -> Result<Option<Made>> {
        let before = self.progress.clone();
        self.incomplete = false;
        let batch_size = self.spec.batch_size;
        let mut samples: Vec<Sample> = Vec::with_capacity(batch_size);
        let mut skipped = BrokenCounts::default();
        while samples.len() < batch_size {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let Some(number) = self.order.group_of(self.progress.position.index) else {
                self.end_epoch()?;
                samples.clear();
                continue;
            };
            let outcomes = self.draw_from(number, samples.len());
            let known = samples.len();
            let seen = outcomes.len() as u64;
            let mut counts = BrokenCounts {
                seen,
                ..BrokenCounts::default()
            };
            for (unit, outcome) in outcomes {
                match outcome {
                    DrawResult::Sample(sample) => samples.push(*sample),
                    DrawResult::NoUsableBox => counts.no_usable_box += 1,
                    DrawResult::NoChain => counts.no_chain += 1,
                    DrawResult::Broken(broken) => {
                        let shard = self.dataset.units()[unit as usize].shard;
                        counts.add(self.dataset.shard_name(shard), &broken);
                    }
                }
            }
            DataError::check_storage(&counts)?;
            self.progress.position.index += seen;
            self.progress.samples_in_epoch += (samples.len() - known) as u64;
            self.progress.unusable_in_a_row = if samples.len() > known {
                0
            } else {
                self.progress.unusable_in_a_row + seen
            };
            skipped.merge(&counts);
            self.progress.counts.merge(&counts);
            if self.progress.counts.seen >= MIN_RECORDS_FOR_CHECK {
                self.check_broken()?;
            }
            if self.progress.unusable_in_a_row >= MAX_UNUSABLE_IN_A_ROW {
                return Err(self.too_few());
            }
        }
        self.progress.batches_in_epoch += 1;
        self.redo = false;
        Ok(Some((
            self.pack(&samples, skipped),
            before,
            self.incomplete,
        )))
    }

    /// Returns the rows of a batch whose images this process decodes; `None` for all of them.
    fn own_rows(&self) -> Option<Range<usize>> {
        let spec = &self.spec;
        let (rank, world) = spec.share;
        // The boxes of scenes are shared between the rows of a batch, and features are at hand.
        if world == 1 || spec.needs == Needs::Parts || spec.features.is_some() {
            return None;
        }
        let (from, count) = share(spec.batch_size, rank, world);
        Some(from..from + count)
    }

    /// Draws the next records of group `number` in parallel, at most as many as a batch of `known`
    /// samples lacks. Returns them in order, each with the index of its unit.
    fn draw_from(&mut self, number: usize, known: usize) -> Vec<(u32, DrawResult)> {
        let limit = self.spec.batch_size - known;
        let own_rows = self.own_rows().filter(|_| !self.redo);
        let group = self.order.group(number);
        if self.group.as_ref().is_none_or(|open| open.number != number) {
            // Drops the old group first, so that only one group is in memory at a time.
            self.group = None;
            let mut open = OpenGroup {
                number,
                slots: self.order.slots(number, &*self.dataset),
                units: group.units.iter().map(|_| Loaded::new()).collect(),
                companions: Companions::default(),
            };
            if self.spec.needs == Needs::Parts && self.spec.cross_image > 0 {
                let read = |slot: &Slot| (*slot, open.read(*slot, group, &*self.dataset));
                let all = || open.slots.par_iter().map(read).collect::<Vec<_>>();
                open.companions = Companions::of(self.pool.install(all).into_iter());
            }
            self.group = Some(open);
            // Waits for the units of this group, nearly all of which its first batch needs.
            self.ahead = Ahead::default();
            self.ahead = self.prefetch_after(group);
        }
        let Some(open) = &self.group else {
            return Vec::new();
        };
        let first = (self.progress.position.index - group.first) as usize;
        let slots = &open.slots[first..open.slots.len().min(first + limit)];
        let (dataset, spec, position) = (&*self.dataset, &self.spec, self.progress.position);
        let draw_slot = |(offset, slot): (usize, &Slot), detail: Detail| {
            let read = |slot| open.read(slot, group, dataset);
            let index = position.index + offset as u64;
            let mut random = Random::new(spec.seed, Purpose::Sample, position.epoch, index);
            let mut outcome = draw(read(*slot), spec, &mut random, detail);
            if let DrawResult::Sample(sample) = &mut outcome {
                for part in &sample.parts {
                    let limit = spec.cross_image;
                    for companion_box in
                        open.companions.pick(&part.label, *slot, limit, &mut random)
                    {
                        let part = companion(
                            read(companion_box.slot),
                            companion_box.box_index,
                            spec,
                            &mut random,
                        );
                        sample.companions.extend(part);
                    }
                }
            }
            (group.units[slot.member as usize], outcome)
        };
        let Some(own_rows) = own_rows else {
            let draw_whole = |slot| draw_slot(slot, Detail::Whole);
            let all = || slots.par_iter().enumerate().map(draw_whole).collect();
            return self.pool.install(all);
        };
        let outline = |slot| draw_slot(slot, Detail::WithoutPixels);
        let all = || slots.par_iter().enumerate().map(outline).collect();
        let mut outcomes: Vec<(u32, DrawResult)> = self.pool.install(all);
        // The row of a sample in the batch is known once it is known which records are skipped.
        let usable = outcomes.iter_mut().enumerate();
        let usable = usable.filter(|(_, (_, outcome))| matches!(outcome, DrawResult::Sample(_)));
        let own = (known..)
            .zip(usable)
            .filter(|(row, _)| own_rows.contains(row));
        let own: Vec<_> = own.map(|(_, sample)| sample).collect();
        let decode = |(offset, (_, outcome)): (usize, &mut (u32, DrawResult))| {
            let (_, whole) = draw_slot((offset, &slots[offset]), Detail::Whole);
            let decoded = matches!(whole, DrawResult::Sample(_));
            if decoded {
                *outcome = whole;
            }
            decoded
        };
        let decoded = || {
            own.into_par_iter()
                .map(decode)
                .reduce(|| true, |a, b| a && b)
        };
        let decoded = self.pool.install(decoded);
        self.incomplete |= !decoded;
        outcomes
    }

    /// Starts to fetch the units of the group after `group`.
    fn prefetch_after(&self, group: &Group) -> Ahead {
        let Some(next) = self.order.group_of(group.first + group.records) else {
            return Ahead::default();
        };
        let units = self.order.group(next).units.clone();
        let (dataset, stop) = (Arc::clone(&self.dataset), Arc::clone(&self.stop));
        let fetch = move || {
            let going_on = |_: &u32| !stop.load(Ordering::Relaxed);
            for unit in units.into_iter().take_while(going_on) {
                dataset.prefetch(unit as usize);
            }
        };
        // Without the thread, the units are fetched when they are read.
        Ahead(Builder::new().name("data-ahead".into()).spawn(fetch).ok())
    }

    fn pack(&self, samples: &[Sample], skipped: BrokenCounts) -> Batch {
        let size = self.spec.image_size;
        let tokens = |texts: Vec<&str>| self.tokenizer.encode_batch(&texts, self.spec.context);
        let boxed: Vec<_> = samples
            .iter()
            .filter_map(|sample| sample.boxed.as_ref())
            .collect();
        let has_boxes = self.spec.needs == Needs::Boxes;
        let position_after = if self.progress.position.index == self.order.records() {
            Position {
                epoch: self.progress.position.epoch + 1,
                index: 0,
            }
        } else {
            self.progress.position
        };
        let total = samples
            .iter()
            .filter(|sample| sample.picture.is_some())
            .count();
        let held = self.own_rows().unwrap_or(0..total);
        let held = held.start.min(total)..held.end.min(total);
        let pictures: Vec<&View> = samples
            .iter()
            .filter_map(|sample| sample.picture.as_ref())
            .collect();
        Batch {
            images: pack::images(pictures[held.clone()].iter().copied(), &self.spec),
            image_rows: ImageRows {
                first: held.start,
                total,
            },
            box_images: has_boxes.then(|| {
                let own = boxed[held].iter().map(|(crop, _)| crop);
                pack::images(own, &self.spec)
            }),
            captions: tokens(
                samples
                    .iter()
                    .map(|sample| sample.caption.as_str())
                    .collect(),
            ),
            phrases: has_boxes
                .then(|| tokens(boxed.iter().map(|(_, phrase)| phrase.as_str()).collect())),
            chains: (self.spec.needs == Needs::Chains)
                .then(|| {
                    pack::chains(samples, |texts| {
                        self.tokenizer.encode_batch(texts, self.spec.context)
                    })
                })
                .flatten(),
            scenes: (self.spec.needs == Needs::Parts).then(|| pack::scenes(samples, size)),
            labels: None,
            order: None,
            nouns: None,
            anchors: None,
            keys: samples.iter().map(|sample| sample.key.clone()).collect(),
            synsets: samples.iter().map(|sample| sample.synset.clone()).collect(),
            position_after,
            skipped,
        }
    }

    fn end_epoch(&mut self) -> Result<()> {
        // A run resumed near the end of an epoch has seen too few records to be checked.
        if self.progress.counts.seen >= MIN_RECORDS_FOR_CHECK.min(self.order.records()) {
            self.check_broken()?;
        }
        if self.progress.whole_epoch && self.progress.batches_in_epoch == 0 {
            return Err(self.too_few());
        }
        self.progress.position = Position {
            epoch: self.progress.position.epoch + 1,
            index: 0,
        };
        self.order = EpochOrder::new(
            &*self.dataset,
            self.spec.seed,
            self.progress.position.epoch,
            self.spec.shuffle,
        );
        self.group = None;
        self.progress.whole_epoch = true;
        self.progress.samples_in_epoch = 0;
        self.progress.batches_in_epoch = 0;
        Ok(())
    }

    fn check_broken(&self) -> Result<()> {
        if self.progress.counts.fraction() > self.spec.max_broken {
            return Err(DataError::TooManyBroken {
                limit: self.spec.max_broken,
                counts: Box::new(self.progress.counts.clone()),
            });
        }
        Ok(())
    }

    fn too_few(&self) -> DataError {
        DataError::TooFewUsable {
            usable: self.progress.samples_in_epoch,
            batch_size: self.spec.batch_size,
            counts: Box::new(self.progress.counts.clone()),
        }
    }
}
