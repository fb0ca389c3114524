//! One lane of the data: draws its samples of each batch in the order of its epochs.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::ThreadPool;
use rayon::prelude::*;

use crate::batches::batch_spec::BatchSpec;
use crate::records::error::{DataError, Result};
use crate::records::fault::BrokenCounts;
use crate::records::order::{EpochOrder, Position};
use crate::records::random::{Purpose, Random};
use crate::records::source::Dataset;
use crate::sampling::draw::{Detail, DrawResult, Sample};
use crate::sampling::open_group::{Ahead, Drawing, OpenGroup};

/// Broken records are checked against the limit once this many were seen, and at the end of an
/// epoch.
const MIN_RECORDS_FOR_CHECK: u64 = 200;
/// Number of consecutive unusable records after which the stream stops with an error.
const MAX_UNUSABLE_IN_A_ROW: u64 = 10_000;

/// The state of a lane that its next samples depend on.
#[derive(Clone)]
pub(super) struct Progress {
    position: Position,
    /// Counts since the start of the stream.
    counts: BrokenCounts,
    /// Whether this epoch was read from its first record.
    whole_epoch: bool,
    samples_in_epoch: u64,
    /// Whether this epoch has filled a batch.
    has_batch: bool,
    /// Records since the last usable one.
    unusable_in_a_row: u64,
}

impl Progress {
    /// Returns the progress of a stream that starts here.
    pub(super) fn start(position: Position) -> Self {
        Self {
            position,
            counts: BrokenCounts::default(),
            whole_epoch: position.index == 0,
            samples_in_epoch: 0,
            has_batch: false,
            unusable_in_a_row: 0,
        }
    }
}

/// The samples of a lane in one batch.
pub(super) struct LaneSamples {
    pub(super) samples: Vec<Sample>,
    /// Counts of the records that were read for them.
    pub(super) skipped: BrokenCounts,
    /// Whether an image of this process is missing, because it cannot be decoded.
    pub(super) incomplete: bool,
}

/// Settings and threads that all lanes of a stream share.
pub(super) struct Shared {
    pub(super) spec: BatchSpec,
    pub(super) pool: ThreadPool,
    pub(super) stop: Arc<AtomicBool>,
}

/// Draws the samples of one lane.
pub(super) struct Lane {
    /// Its number among the lanes.
    pub(super) number: usize,
    /// Its rows of every batch.
    pub(super) rows: Range<usize>,
    dataset: Arc<dyn Dataset>,
    seed: u64,
    order: EpochOrder,
    pub(super) progress: Progress,
    group: Option<OpenGroup>,
    ahead: Ahead,
}

impl Lane {
    /// Opens lane `number`, whose rows of every batch are `rows`.
    pub(super) fn open(
        number: usize,
        rows: Range<usize>,
        dataset: Arc<dyn Dataset>,
        spec: &BatchSpec,
        progress: Progress,
    ) -> Self {
        let seed = match number {
            // One lane reads in the order of runs without lanes.
            0 => spec.seed,
            number => Random::new(spec.seed, Purpose::Lanes, 0, number as u64).bits(),
        };
        let epoch = progress.position.epoch;
        Self {
            number,
            rows,
            seed,
            order: EpochOrder::new(&*dataset, seed, epoch, spec.shuffle_of_lane()),
            dataset,
            progress,
            group: None,
            ahead: Ahead::default(),
        }
    }

    /// Draws the samples of the next batch; `None` when the stream was dropped. `own` are the rows of
    /// this lane whose images this process decodes, `None` for all of them.
    pub(super) fn draw(
        &mut self,
        shared: &Shared,
        own: Option<&Range<usize>>,
    ) -> Result<Option<LaneSamples>> {
        let mut drawn = LaneSamples {
            samples: Vec::with_capacity(self.rows.len()),
            skipped: BrokenCounts::default(),
            incomplete: false,
        };
        while drawn.samples.len() < self.rows.len() {
            if shared.stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let Some(number) = self.order.group_of(self.progress.position.index) else {
                self.end_epoch(&shared.spec)?;
                drawn.samples.clear();
                continue;
            };
            let known = drawn.samples.len();
            let (outcomes, decoded) = self.draw_from(number, known, shared, own);
            drawn.incomplete |= !decoded;
            let counts = self.sort(outcomes, &mut drawn.samples);
            DataError::check_storage(&counts)?;
            self.advance(&counts, drawn.samples.len() - known, &shared.spec)?;
            drawn.skipped.merge(&counts);
        }
        self.progress.has_batch = true;
        Ok(Some(drawn))
    }

    /// Returns the position after the last record that was read.
    pub(super) fn position_after(&self) -> Position {
        let position = self.progress.position;
        if position.index == self.order.records() {
            return Position {
                epoch: position.epoch + 1,
                index: 0,
            };
        }
        position
    }

    /// Appends the samples, and counts what cannot be used.
    fn sort(&self, outcomes: Vec<(u32, DrawResult)>, samples: &mut Vec<Sample>) -> BrokenCounts {
        let mut counts = BrokenCounts {
            seen: outcomes.len() as u64,
            ..BrokenCounts::default()
        };
        for (unit, outcome) in outcomes {
            let shard = self.dataset.units()[unit as usize].shard;
            match outcome {
                DrawResult::Sample(sample) => samples.push(Sample { shard, ..*sample }),
                DrawResult::NoUsableBox => counts.no_usable_box += 1,
                DrawResult::NoChain => counts.no_chain += 1,
                DrawResult::Broken(broken) => {
                    counts.add(self.dataset.shard_name(shard), &broken);
                }
            }
        }
        counts
    }

    /// Moves on after records with these counts, of which `usable` gave samples.
    fn advance(&mut self, counts: &BrokenCounts, usable: usize, spec: &BatchSpec) -> Result<()> {
        let progress = &mut self.progress;
        progress.position.index += counts.seen;
        progress.samples_in_epoch += usable as u64;
        progress.unusable_in_a_row = match usable {
            0 => progress.unusable_in_a_row + counts.seen,
            _ => 0,
        };
        progress.counts.merge(counts);
        if progress.counts.seen >= MIN_RECORDS_FOR_CHECK {
            DataError::check_broken(&self.progress.counts, spec.max_broken)?;
        }
        if self.progress.unusable_in_a_row >= MAX_UNUSABLE_IN_A_ROW {
            return Err(self.too_few());
        }
        Ok(())
    }

    /// Draws the next records of group `number` in parallel, at most as many as a batch with `known`
    /// samples of this lane lacks. Returns them in order, each with the index of its unit, and whether
    /// all images of this process could be decoded.
    fn draw_from(
        &mut self,
        number: usize,
        known: usize,
        shared: &Shared,
        own: Option<&Range<usize>>,
    ) -> (Vec<(u32, DrawResult)>, bool) {
        let limit = self.rows.len() - known;
        self.enter(number, shared);
        let Some(open) = &self.group else {
            return (Vec::new(), true);
        };
        let group = self.order.group(number);
        let first = (self.progress.position.index - group.first) as usize;
        let slots = &open.slots[first..open.slots.len().min(first + limit)];
        let drawing = Drawing {
            open,
            group,
            dataset: &*self.dataset,
            spec: &shared.spec,
            seed: self.seed,
            position: self.progress.position,
        };
        let Some(own) = own else {
            let draw_whole = |slot| drawing.draw(slot, Detail::Whole);
            let all = || slots.par_iter().enumerate().map(draw_whole).collect();
            return (shared.pool.install(all), true);
        };
        let outline = |slot| drawing.draw(slot, Detail::WithoutPixels);
        let all = || slots.par_iter().enumerate().map(outline).collect();
        let mut outcomes: Vec<(u32, DrawResult)> = shared.pool.install(all);
        // The row of a sample in the batch is known once it is known which records are skipped.
        let usable = outcomes.iter_mut().enumerate();
        let usable = usable.filter(|(_, (_, outcome))| matches!(outcome, DrawResult::Sample(_)));
        let rows = (self.rows.start + known..).zip(usable);
        let rows = rows.filter(|(row, _)| own.contains(row));
        let of_this_process: Vec<_> = rows.map(|(_, sample)| sample).collect();
        let decode = |(offset, (_, outcome)): (usize, &mut (u32, DrawResult))| {
            let (_, whole) = drawing.draw((offset, &slots[offset]), Detail::Whole);
            let decoded = matches!(whole, DrawResult::Sample(_));
            if decoded {
                *outcome = whole;
            }
            decoded
        };
        let decoded = of_this_process.into_par_iter().map(decode);
        let decoded = shared
            .pool
            .install(|| decoded.reduce(|| true, |a, b| a && b));
        (outcomes, decoded)
    }

    /// Opens group `number` unless it is open.
    fn enter(&mut self, number: usize, shared: &Shared) {
        let open = self.group.as_ref();
        if open.is_some_and(|open| open.number == number) {
            return;
        }
        // Drops the old group first, so that only one group is in memory at a time.
        self.group = None;
        let Shared { spec, pool, stop } = shared;
        let open = OpenGroup::open(number, &self.order, &*self.dataset, spec, pool);
        self.group = Some(open);
        // Waits for the units of this group, nearly all of which its first batch needs.
        self.ahead = Ahead::default();
        let group = self.order.group(number);
        if let Some(next) = self.order.group_of(group.first + group.records) {
            self.ahead = Ahead::fetch(self.order.group(next), &self.dataset, stop);
        }
    }

    fn end_epoch(&mut self, spec: &BatchSpec) -> Result<()> {
        let progress = &self.progress;
        // A run resumed near the end of an epoch has seen too few records to be checked.
        if progress.counts.seen >= MIN_RECORDS_FOR_CHECK.min(self.order.records()) {
            DataError::check_broken(&progress.counts, spec.max_broken)?;
        }
        if progress.whole_epoch && !progress.has_batch {
            return Err(self.too_few());
        }
        let epoch = progress.position.epoch + 1;
        let budget = spec.shuffle_of_lane();
        self.order = EpochOrder::new(&*self.dataset, self.seed, epoch, budget);
        self.group = None;
        let progress = &mut self.progress;
        progress.position = Position { epoch, index: 0 };
        progress.whole_epoch = true;
        progress.samples_in_epoch = 0;
        progress.has_batch = false;
        Ok(())
    }

    fn too_few(&self) -> DataError {
        DataError::TooFewUsable {
            usable: self.progress.samples_in_epoch,
            batch_size: self.rows.len(),
            counts: Box::new(self.progress.counts.clone()),
        }
    }
}

#[cfg(test)]
mod tests;
