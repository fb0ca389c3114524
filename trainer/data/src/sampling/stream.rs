//! Batches prepared ahead of the training step, in separate threads.
//!
//! A producer thread takes the records of the epoch in order, in each lane of the data. A pool of
//! workers reads, decodes, crops and tokenises them; the producer puts complete batches into a bounded
//! channel. The contents of a batch depend only on the seed, the lanes and their positions, not on the
//! number of workers or on timing.
//!
//! Where several processes share the images of a batch, each reads the lanes of its own rows. Of a lane
//! that also has rows of other processes it decodes only its own and reads the headers of the others, so
//! all of them skip the same records. Pixels that turn out to be damaged there are known to one process
//! alone: [`BatchStream::is_incomplete`] then asks all of them for [`BatchStream::redo`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;

use espalier_core::input::Tokenizer;
use espalier_io::ranks::share;
use rayon::ThreadPoolBuilder;

use crate::batches::batch::Batch;
use crate::batches::batch_spec::BatchSpec;
use crate::batches::lane_batch::{LaneBatch, joined};
use crate::records::error::{DataError, Result};
use crate::records::fault::BrokenCounts;
use crate::records::lanes::{Positions, lanes};
use crate::records::order::{Position, records_of_epoch};
use crate::records::source::Dataset;
use crate::sampling::lane::{Lane, Progress, Shared};
use crate::sampling::producer::{Made, Producer};

/// Endless stream of batches of a dataset, epoch after epoch.
///
/// Every batch is full: broken records and those without a usable box are skipped and counted, and
/// later records take their place. Samples left at the end of a lane's epoch that do not fill its rows
/// of a batch are dropped. Dropping the stream stops its threads. The stream ends after an error.
pub struct BatchStream {
    source: StreamSource,
    running: Running,
    /// State before the last batch, and whether that batch lacks an image of this process.
    last: Option<(Vec<Progress>, bool)>,
}

/// What batches are made from.
#[derive(Clone)]
struct StreamSource {
    /// The lanes that this process reads, by number.
    lanes: Vec<(usize, Arc<dyn Dataset>)>,
    tokenizer: Arc<Tokenizer>,
    spec: BatchSpec,
}

/// The thread that makes batches.
struct Running {
    batches: Option<Receiver<Result<Made>>>,
    stop: Arc<AtomicBool>,
    producer: Option<JoinHandle<()>>,
}

impl StreamSource {
    /// Starts a thread that makes batches from here on; `redo` for a first batch that is made with
    /// all images decoded.
    fn start(&self, progress: Vec<Progress>, redo: bool) -> Result<Running> {
        let failed = |e: &dyn std::fmt::Display| DataError::Worker(e.to_string());
        let pool = ThreadPoolBuilder::new()
            .num_threads(self.spec.workers.max(1))
            .thread_name(|i| format!("data-{i}"))
            .build()
            .map_err(|e| failed(&e))?;
        let (send, batches) = sync_channel(self.spec.prefetch.max(1));
        let stop = Arc::new(AtomicBool::new(false));
        let Self {
            lanes,
            tokenizer,
            spec,
        } = self.clone();
        let open = |((number, data), progress): ((usize, Arc<dyn Dataset>), Progress)| {
            let (first, count) = share(spec.batch_size, number, spec.lanes);
            Lane::open(number, first..first + count, data, &spec, progress)
        };
        let lanes = lanes.into_iter().zip(progress).map(open).collect();
        let producer = Producer {
            tokenizer,
            lanes,
            redo,
            shared: Shared {
                spec,
                pool,
                stop: Arc::clone(&stop),
            },
        };
        let producer = std::thread::Builder::new()
            .name("data".into())
            .spawn(move || producer.send_to(&send))
            .map_err(|e| failed(&e))?;
        Ok(Running {
            batches: Some(batches),
            stop,
            producer: Some(producer),
        })
    }
}

impl BatchStream {
    /// Starts making batches at the positions `from`, one for each lane.
    ///
    /// # Errors
    /// If a setting is out of range, the data of a lane cannot fill its rows of a batch, `from` lies
    /// beyond the data or is of another number of lanes, or the threads cannot be started.
    pub fn start(
        dataset: Arc<dyn Dataset>,
        tokenizer: Arc<Tokenizer>,
        spec: BatchSpec,
        from: impl Into<Positions>,
    ) -> Result<Self> {
        spec.check()?;
        let from = from.into();
        if from.lanes().len() != spec.lanes {
            let expected = "the number that the run was started with";
            let found = format!("{}, and {} positions", spec.lanes, from.lanes().len());
            return Err(DataError::setting("lanes", expected, found));
        }
        let (units, count) = (dataset.units().len(), spec.lanes);
        if count > 1 && units < count {
            return Err(DataError::TooFewUnits {
                units,
                lanes: count,
            });
        }
        let all = lanes(&dataset, spec.lanes);
        // Every process checks all lanes, so that all refuse the same data.
        for (lane, (data, position)) in all.iter().zip(from.lanes()).enumerate() {
            let (_, rows) = share(spec.batch_size, lane, spec.lanes);
            check_position(&**data, rows, *position)?;
        }
        let own = spec.lanes_of(spec.share.0);
        let progress = from.lanes()[own.clone()].iter();
        let progress = progress.map(|position| Progress::start(*position));
        let progress = progress.collect();
        let lanes = all.into_iter().enumerate();
        let source = StreamSource {
            lanes: lanes.filter(|(lane, _)| own.contains(lane)).collect(),
            tokenizer,
            spec,
        };
        Ok(Self {
            running: source.start(progress, false)?,
            source,
            last: None,
        })
    }

    /// Returns how batches are made.
    pub fn spec(&self) -> &BatchSpec {
        &self.source.spec
    }

    /// Returns whether the last batch lacks an image that this process should hold, because its
    /// pixels are damaged. No process may use the batch then; all of them call
    /// [`redo`](Self::redo).
    pub fn is_incomplete(&self) -> bool {
        matches!(self.last, Some((_, true)))
    }

    /// Returns the next batch in parts: the rows of each lane that this process reads, or all rows at
    /// once as lane 0 where each process reads all of them. `None` after an error.
    pub fn next_parts(&mut self) -> Option<Result<Vec<LaneBatch>>> {
        let made = self.running.batches.as_ref()?.recv().ok()?;
        Some(made.map(|made| {
            self.last = Some((made.before, made.incomplete));
            made.parts
        }))
    }

    /// Makes the last batch again. Every process decodes all images of its lanes, so that all skip the
    /// damaged ones; the batches after it are shared as before.
    ///
    /// # Errors
    /// As [`start`](Self::start) and [`next`](Iterator::next); if there is no last batch.
    pub fn redo(&mut self) -> Result<Vec<LaneBatch>> {
        let none = || DataError::Worker("there is no batch to make again".to_owned());
        let (progress, _) = self.last.take().ok_or_else(none)?;
        self.running = self.source.start(progress, true)?;
        let ended = || DataError::Worker("the data ended early".to_owned());
        self.next_parts().ok_or_else(ended)?
    }
}

/// The batches of a process that reads all lanes; of another one, its own lanes without the rows of the
/// others.
impl Iterator for BatchStream {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Self::Item> {
        let parts = self.next_parts()?;
        let lost = || DataError::Worker("a batch without rows".to_owned());
        Some(parts.and_then(|parts| {
            let lanes = parts.into_iter().map(|part| part.batch).collect();
            joined(lanes, &self.source.spec).ok_or_else(lost)
        }))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Closing the channel wakes a producer that waits for free space in it.
        drop(self.batches.take());
        if let Some(producer) = self.producer.take() {
            // Panics of the producer were already sent as errors.
            let _ = producer.join();
        }
    }
}

/// Checks that the data fill one batch and reach to a position.
fn check_position(dataset: &dyn Dataset, batch_size: usize, from: Position) -> Result<()> {
    let records = records_of_epoch(dataset);
    if records < batch_size as u64 {
        return Err(DataError::TooFewUsable {
            usable: records,
            batch_size,
            counts: Box::new(BrokenCounts {
                seen: records,
                ..BrokenCounts::default()
            }),
        });
    }
    if from.index > records {
        return Err(DataError::Position {
            epoch: from.epoch,
            index: from.index,
            records,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use espalier_checkpoints::model_file::MERGES;
    use espalier_core::taxonomy::Taxonomy;

    use super::*;
    use crate::formats::synthetic::taxonomy_tsv;
    use crate::records::lineage::{Lineages, NegativeKind};
    use crate::sampling::flawed::Flawed;
    use crate::{BatchContent, Needs, RankText};

    fn start(data: Flawed, spec: BatchSpec, from: impl Into<Positions>) -> Result<BatchStream> {
        let tokenizer = Arc::new(Tokenizer::from_merges(MERGES, 8192).unwrap());
        BatchStream::start(Arc::new(data), tokenizer, spec, from)
    }

    #[test]
    fn a_batch_has_what_its_method_needs_and_no_more() {
        let taxonomy = Taxonomy::from_tsv(&taxonomy_tsv()).unwrap();
        let lineages = Lineages::new(taxonomy, 0, RankText::Name, NegativeKind::SameTier).unwrap();
        let lineages = Some(Arc::new(lineages));
        for needs in [Needs::Captions, Needs::Boxes, Needs::Chains, Needs::Parts] {
            let spec = BatchSpec {
                needs,
                lineages: lineages.clone(),
                min_box_px: 1.0,
                ..BatchSpec::new(4, 16, 77)
            };
            let mut stream = start(Flawed::new(&[12]), spec, Position::default()).unwrap();
            let batch = stream.next().unwrap().unwrap();
            assert_eq!((batch.keys.len(), batch.captions.rows), (4, 4));
            let is_complete = match (needs, &batch.content) {
                (Needs::Captions, BatchContent::Pairs) => true,
                (Needs::Boxes, BatchContent::Boxed { images, phrases }) => {
                    (images.count(), phrases.rows) == (4, 4)
                }
                (Needs::Chains, BatchContent::Chains(c)) => c.texts.rows == 2 * 4 * c.tiers,
                (Needs::Parts, BatchContent::Scenes(scenes)) => scenes.boxes.count >= 4,
                _ => false,
            };
            assert!(is_complete, "{needs:?}: {:?}", batch.content);
        }
    }

    #[test]
    fn each_lane_has_at_least_one_unit() {
        let refusal = |records: &[u32], lanes| {
            let spec = BatchSpec {
                lanes,
                ..BatchSpec::new(4, 16, 77)
            };
            start(Flawed::new(records), spec, Positions::start(lanes)).err()
        };
        assert!(refusal(&[4, 4], 2).is_none());
        assert!(matches!(
            refusal(&[4, 4], 3),
            Some(DataError::TooFewUnits { units: 2, lanes: 3 })
        ));
        // One lane reads all units; without any there are too few records.
        assert!(matches!(
            refusal(&[], 1),
            Some(DataError::TooFewUsable { usable: 0, .. })
        ));
    }

    #[test]
    fn a_stream_continues_at_the_end_of_an_epoch_but_not_beyond() {
        let from = |index| {
            let position = Position { epoch: 0, index };
            start(Flawed::new(&[8]), BatchSpec::new(4, 16, 77), position)
        };
        let batch = from(8).unwrap().next().unwrap().unwrap();
        let after = batch.position_after.lanes();
        assert_eq!(after, [Position { epoch: 1, index: 4 }]);
        match from(9).err() {
            Some(DataError::Position { index, records, .. }) => {
                assert_eq!((index, records), (9, 8));
            }
            other => panic!("{other:?}"),
        }
    }
}
