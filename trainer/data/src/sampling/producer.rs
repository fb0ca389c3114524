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
use crate::records::lanes::Positions;
use crate::sampling::draw::{Sample, View};
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
    positions: Positions,
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
        let (mut drawn, mut incomplete) = (Vec::with_capacity(self.lanes.len()), false);
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
                positions: lane.position_after().into(),
            };
            drawn.push((lane.number, rows));
        }
        self.redo = false;
        let parts = match own {
            Some(own) => {
                let part = |(lane, rows)| LaneBatch {
                    lane,
                    batch: self.pack(rows, &own),
                };
                drawn.into_iter().map(part).collect()
            }
            None => vec![LaneBatch {
                lane: 0,
                batch: self.pack(joined(drawn), &(0..usize::MAX)),
            }],
        };
        Ok(Some(Made {
            parts,
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
        let boxed: Vec<_> = samples
            .iter()
            .filter_map(|sample| sample.content.boxed())
            .collect();
        let images: Vec<&View> = samples
            .iter()
            .filter_map(|sample| sample.content.image())
            .collect();
        let total = images.len();
        let held = |row: usize| row.saturating_sub(first).min(total);
        let held = held(own.start)..held(own.end);
        Batch {
            images: pack::images(images[held.clone()].iter().copied(), spec),
            image_rows: ImageRows {
                first: held.start,
                total,
            },
            captions: tokens(
                samples
                    .iter()
                    .map(|sample| sample.caption.as_str())
                    .collect(),
            ),
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
            position_after: positions,
            skipped,
        }
    }
}

/// Puts the rows of all lanes one after the other.
fn joined(lanes: Vec<(usize, Rows)>) -> Rows {
    let mut all = Rows {
        first: 0,
        samples: Vec::new(),
        skipped: BrokenCounts::default(),
        positions: Positions::start(0),
    };
    let mut positions = Vec::with_capacity(lanes.len());
    for (_, rows) in lanes {
        all.samples.extend(rows.samples);
        all.skipped.merge(&rows.skipped);
        positions.extend_from_slice(rows.positions.lanes());
    }
    all.positions = positions.into_iter().collect();
    all
}
