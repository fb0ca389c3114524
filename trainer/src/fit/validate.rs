//! Measures the loss on validation data during a run.

use std::sync::Arc;

use anyhow::Context;
use espalier_core::input::Tokenizer;
use espalier_data::records::order::records_of_epoch;
use espalier_data::{BatchSpec, BatchStream, Dataset, Position};

use super::shared_batches::next_batch;
use super::step::Learner;

/// Validation batches, the same at every measurement.
pub(super) struct Validation {
    data: Arc<dyn Dataset>,
    tokenizer: Arc<Tokenizer>,
    spec: BatchSpec,
    batches: u64,
}

impl Validation {
    /// Reads the first `batches` batches of some data, or as many as it has, made as in `spec` but
    /// without augmentation. Data of less than one batch is measured in smaller ones.
    pub(super) fn new(
        data: Arc<dyn Dataset>,
        tokenizer: Arc<Tokenizer>,
        spec: BatchSpec,
        batches: u64,
    ) -> Self {
        let records = records_of_epoch(&*data);
        let batch_size = match usize::try_from(records) {
            // Of less than a batch, a batch takes half, so that a broken record does not end the run.
            Ok(records) if records < spec.batch_size => (records / 2).max(1),
            _ => spec.batch_size,
        };
        let full_batches = records / batch_size as u64;
        Self {
            batches: batches.min(full_batches).max(1),
            data,
            tokenizer,
            spec: BatchSpec {
                batch_size,
                augment: None,
                mirror: false,
                corruption: 0.0,
                seed: 0,
                // Validation data is small and read again and again.
                lanes: 1,
                ..spec
            },
        }
    }

    /// Computes the means of the loss and its terms over the batches, named `val_loss` and so on.
    pub(super) fn measure(&self, learner: &Learner) -> anyhow::Result<Vec<(String, f64)>> {
        let (data, tokenizer) = (Arc::clone(&self.data), Arc::clone(&self.tokenizer));
        let stream = BatchStream::start(data, tokenizer, self.spec.clone(), Position::default());
        let mut stream = stream.context("--val-data")?;
        let mut sums: Vec<(String, f64)> = Vec::new();
        for _ in 0..self.batches {
            let batch = next_batch(&mut stream, &*learner.ranks).context("--val-data")?;
            let values = learner.evaluate(&batch)?.values;
            if sums.is_empty() {
                let named = values.into_iter().map(|(n, v)| (format!("val_{n}"), v));
                sums = named.collect();
            } else {
                let pairs = sums.iter_mut().zip(values);
                pairs.for_each(|((_, sum), (_, value))| *sum += value);
            }
        }
        for (_, sum) in &mut sums {
            *sum /= self.batches as f64;
        }
        Ok(sums)
    }
}
