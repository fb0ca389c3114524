//! The thread that makes batches.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use espalier_core::input::Tokenizer;

use crate::Needs;
use crate::batches::batch::{Batch, BatchContent, ImageRows};
use crate::batches::lane_batch::LaneBatch;
use crate::records::error::{DataError, Result};
use crate::records::fault::{BrokenCounts, panic_message};
use crate::records::order::Position;
use crate::sampling::draw::{Content, Sample, View};
use crate::sampling::lane::{Lane, Progress, Shared};
use crate::sampling::pack;

/// A batch, or the parts of it that this process reads.
pub(super) struct Made {
    /// One batch with all rows, or the rows of each lane that this process reads.
    pub(super) parts: Vec<LaneBatch>,
    /// The state of each lane before it.
    pub(super) before: Vec<Progress>,
    /// Whether it lacks an image of this process.
    pub(super) incomplete: bool,
}

/// Draws and packs batches in the order of the lanes.
pub(super) struct Producer {
    pub(super) tokenizer: Arc<Tokenizer>,
    pub(super) shared: Shared,
    pub(super) lanes: Vec<Lane>,
    /// Whether the next batch is made with all images decoded.
    pub(super) redo: bool,
}

/// Samples that are packed together.
struct Rows {
    first: usize,
    samples: Vec<Sample>,
    skipped: BrokenCounts,
    /// By lane.
    positions: Vec<Position>,
}

impl Rows {
    /// Appends the rows of the next lane.
    fn append(&mut self, next: Self) {
        self.samples.extend(next.samples);
        self.skipped.merge(&next.skipped);
        self.positions.extend(next.positions);
    }
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

    /// Makes the next batch; `None` when the stream was dropped.
    fn next_batch(&mut self) -> Result<Option<Made>> {
        let before = self.lanes.iter().map(|lane| lane.progress.clone());
        let before = before.collect();
        let own = self.shared.spec.own_rows();
        let (mut drawn, mut incomplete) = (Vec::<(usize, Rows)>::new(), false);
        for lane in &mut self.lanes {
            let is_shared =
                |own: &&Range<usize>| own.start > lane.rows.start || own.end < lane.rows.end;
            let shared_rows = own.as_ref().filter(|_| !self.redo).filter(is_shared);
            let Some(samples) = lane.draw(&self.shared, shared_rows)? else {
                return Ok(None);
            };
            incomplete |= samples.incomplete;
            let rows = Rows {
                first: lane.rows.start,
                samples: samples.samples,
                skipped: samples.skipped,
                positions: vec![lane.position_after()],
            };
            match (&own, drawn.last_mut()) {
                // All lanes become one part.
                (None, Some((_, all))) => all.append(rows),
                _ => drawn.push((lane.number, rows)),
            }
        }
        self.redo = false;
        let own = own.unwrap_or(0..usize::MAX);
        let part = |(lane, rows)| LaneBatch {
            lane,
            batch: self.pack(rows, &own),
        };
        Ok(Some(Made {
            parts: drawn.into_iter().map(part).collect(),
            before,
            incomplete,
        }))
    }

    /// Packs samples with the images of the rows `own` of the batch.
    fn pack(&self, rows: Rows, own: &Range<usize>) -> Batch {
        let Rows {
            first,
            samples,
            skipped,
            positions,
        } = rows;
        let spec = &self.shared.spec;
        let tokens = |texts: Vec<&str>| self.tokenizer.encode_batch(&texts, spec.context);
        let contents = || samples.iter().map(|sample| &sample.content);
        let boxed: Vec<_> = contents().filter_map(Content::boxed).collect();
        let images: Vec<&View> = contents().filter_map(Content::image).collect();
        let total = images.len();
        let held = |row: usize| row.saturating_sub(first).min(total);
        let held = held(own.start)..held(own.end);
        Batch {
            images: pack::images(images[held.clone()].iter().copied(), spec),
            image_rows: ImageRows {
                first: held.start,
                total,
            },
            captions: tokens(samples.iter().map(|s| s.caption.as_str()).collect()),
            content: match spec.needs {
                Needs::Captions => BatchContent::Pairs,
                Needs::Boxes => BatchContent::Boxed {
                    images: pack::images(boxed[held].iter().map(|(crop, _)| *crop), spec),
                    phrases: tokens(boxed.iter().map(|(_, phrase)| *phrase).collect()),
                },
                Needs::Chains => BatchContent::Chains(pack::chains(&samples, |texts| {
                    self.tokenizer.encode_batch(texts, spec.context)
                })),
                Needs::Parts => BatchContent::Scenes(pack::scenes(&samples, spec.image_size)),
            },
            labels: None,
            order: None,
            nouns: None,
            anchors: None,
            shards: samples.iter().map(|sample| sample.shard).collect(),
            keys: samples.iter().map(|sample| sample.key.clone()).collect(),
            synsets: samples.iter().map(|sample| sample.synset.clone()).collect(),
            position_after: positions.into_iter().collect(),
            skipped,
        }
    }
}
