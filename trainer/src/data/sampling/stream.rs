//! Batches prepared ahead of the training step, in separate threads.
//!
//! A producer thread takes the records of the epoch in order. A pool of workers reads, decodes,
//! crops and tokenises them; the producer puts complete batches into a bounded channel. The
//! contents of a batch depend only on the seed and the position, not on the number of workers or on
//! timing.
//!
//! Where several processes share the images of a batch, each decodes only its own rows and reads the
//! headers of the others, so all of them skip the same records. Pixels that turn out to be damaged
//! are known to one process alone: [`BatchStream::is_incomplete`] then asks all of them for
//! [`BatchStream::redo`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;

use espalier_core::input::Tokenizer;
use rayon::ThreadPoolBuilder;

use crate::data::batches::batch::Batch;
use crate::data::batches::batch_spec::BatchSpec;
use crate::data::records::error::{DataError, Result};
use crate::data::records::fault::BrokenCounts;
use crate::data::records::order::{EpochOrder, Position, records_of_epoch};
use crate::data::records::source::Dataset;
use crate::data::sampling::producer::{Ahead, Made, Producer, Progress};

/// Endless stream of batches of a dataset, epoch after epoch.
///
/// Every batch is full: broken records and those without a usable box are skipped and counted, and
/// later records take their place. Samples left at the end of an epoch that do not fill a batch are
/// dropped. Dropping the stream stops its threads. The stream ends after an error.
pub struct BatchStream {
    source: StreamSource,
    running: Running,
    /// State before the last batch, and whether that batch lacks an image of this process.
    last: Option<(Progress, bool)>,
}

/// What batches are made from.
#[derive(Clone)]
struct StreamSource {
    dataset: Arc<dyn Dataset>,
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
    fn start(&self, progress: Progress, redo: bool) -> Result<Running> {
        let failed = |e: &dyn std::fmt::Display| DataError::Worker(e.to_string());
        let pool = ThreadPoolBuilder::new()
            .num_threads(self.spec.workers.max(1))
            .thread_name(|i| format!("data-{i}"))
            .build()
            .map_err(|e| failed(&e))?;
        let (send, batches) = sync_channel(self.spec.prefetch.max(1));
        let stop = Arc::new(AtomicBool::new(false));
        let Self {
            dataset,
            tokenizer,
            spec,
        } = self.clone();
        let producer = Producer {
            order: EpochOrder::new(&*dataset, spec.seed, progress.position.epoch, spec.shuffle),
            dataset,
            tokenizer,
            pool,
            progress,
            group: None,
            ahead: Ahead::default(),
            redo,
            incomplete: false,
            stop: Arc::clone(&stop),
            spec,
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
    /// Starts making batches at position `from`.
    ///
    /// # Errors
    /// If a setting is out of range, the data cannot fill one batch, `from` lies beyond the data,
    /// or the threads cannot be started.
    pub fn start(
        dataset: Arc<dyn Dataset>,
        tokenizer: Arc<Tokenizer>,
        spec: BatchSpec,
        from: Position,
    ) -> Result<Self> {
        spec.check()?;
        check_position(&*dataset, spec.batch_size, from)?;
        let source = StreamSource {
            dataset,
            tokenizer,
            spec,
        };
        let progress = Progress {
            position: from,
            counts: BrokenCounts::default(),
            whole_epoch: from.index == 0,
            samples_in_epoch: 0,
            batches_in_epoch: 0,
            unusable_in_a_row: 0,
        };
        Ok(Self {
            running: source.start(progress, false)?,
            source,
            last: None,
        })
    }

    /// Returns whether the last batch lacks an image that this process should hold, because its
    /// pixels are damaged. No process may use the batch then; all of them call
    /// [`redo`](Self::redo).
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        self.last
            .as_ref()
            .is_some_and(|(_, incomplete)| *incomplete)
    }

    /// Makes the last batch again. Every process decodes all its images, so that all skip the
    /// damaged ones; the batches after it are shared as before.
    ///
    /// # Errors
    /// As [`start`](Self::start) and [`next`](Iterator::next); if there is no last batch.
    pub fn redo(&mut self) -> Result<Batch> {
        let none = || DataError::Worker("there is no batch to make again".to_owned());
        let (progress, _) = self.last.take().ok_or_else(none)?;
        self.running = self.source.start(progress, true)?;
        let ended = || DataError::Worker("the data ended early".to_owned());
        self.next().ok_or_else(ended)?
    }
}

impl Iterator for BatchStream {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Self::Item> {
        let made = self.running.batches.as_ref()?.recv().ok()?;
        Some(made.map(|(batch, before, incomplete)| {
            self.last = Some((before, incomplete));
            batch
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
