//! Records that are left out of batches, and errors that end a stream of batches.

use std::sync::Arc;

use espalier_trainer::config::Needs;
use espalier_trainer::data::records::fault;
use espalier_trainer::data::records::source::{Dataset, Records, Unit};
use espalier_trainer::data::{
    BatchContent, BatchSpec, BatchStream, DataError, Position, Synthetic,
};

use crate::data::shards::rows;
use crate::data::support::{dataset, first, spec, stream, tokenizer};

#[test]
fn a_method_without_boxes_gets_none_and_uses_every_record() {
    let dir = tempfile::tempdir().unwrap();
    let mut rows = rows(0..8);
    for row in &mut rows[..4] {
        row.noun_chunks.clear();
        row.ref_exps.clear();
        row.synsets.clear();
    }
    let data = dataset(dir.path(), &rows, 8);
    let plain = BatchSpec {
        needs: Needs::Captions,
        ..spec(8)
    };
    let batch = &first(&data, plain, 1)[0];
    assert_eq!(batch.content, BatchContent::Pairs);
    assert_eq!((batch.keys.len(), batch.skipped.no_usable_box), (8, 0));

    let batch = &first(&data, spec(4), 1)[0];
    let keys = &batch.keys;
    assert!(keys.iter().all(|key| key.as_str() >= "000004"), "{keys:?}");
    assert!(batch.skipped.seen - batch.skipped.no_usable_box == 4);
}

#[track_caller]
fn is_bad_usage(error: &DataError, words: &[&str]) {
    assert_eq!(error.exit_code(), 2);
    let message = error.to_string();
    for word in words {
        assert!(message.contains(word), "no `{word}` in: {message}");
    }
}

#[test]
fn boxes_below_the_limit_are_not_used() {
    let dir = tempfile::tempdir().unwrap();
    let data = dataset(dir.path(), &rows(0..8), 8);
    // Both boxes have 48 x 80 = 3840 pixels, 61.97 squared.
    let limit = |min_box_px: f64| BatchSpec {
        min_box_px,
        ..spec(4)
    };
    assert_eq!(first(&data, limit(61.9), 1).len(), 1);
    let mut batches = stream(data, limit(62.0), Position::default());
    let error = batches.next().unwrap().unwrap_err();
    let counts = "usable records (one batch), found 0 in 8 records";
    is_bad_usage(&error, &[counts, "no usable box: 8 ("]);
}

#[test]
fn too_many_broken_records_stop_the_run_with_their_causes() {
    let dir = tempfile::tempdir().unwrap();
    let mut rows = rows(0..300);
    for i in [20, 90, 160, 230] {
        rows[i].image = b"broken".to_vec();
    }
    let data = dataset(dir.path(), &rows, 100);
    let run = |max_broken: f64| {
        let spec = BatchSpec {
            max_broken,
            ..spec(10)
        };
        stream(Arc::clone(&data), spec, Position::default())
            .take(60)
            .collect::<Result<Vec<_>, _>>()
    };
    let batches = run(0.02).unwrap();
    let broken = batches[..29].iter().map(|batch| batch.skipped.broken());
    assert_eq!((batches.len(), broken.sum::<u64>()), (60, 4));
    assert!(batches.iter().all(|batch| batch.keys.len() == 10));

    let words = [
        "more than the 0.00 % of --max-broken",
        "image cannot be read: ",
        "a.parquet, record 000",
    ];
    is_bad_usage(&run(0.0).unwrap_err(), &words);
}

#[test]
fn few_broken_records_are_judged_at_the_end_of_the_epoch() {
    let dir = tempfile::tempdir().unwrap();
    let mut rows = rows(0..40);
    rows[7].image.clear();
    let data = dataset(dir.path(), &rows, 10);
    let spec = BatchSpec {
        max_broken: 0.0,
        ..spec(10)
    };
    let mut batches = stream(data, spec, Position::default());
    for _ in 0..3 {
        batches.next().unwrap().unwrap();
    }
    let error = batches.next().unwrap().unwrap_err();
    assert!(matches!(error, DataError::TooManyBroken { .. }), "{error}");
    assert!(batches.next().is_none());
}

#[test]
fn data_that_cannot_fill_a_batch_is_refused() {
    let data: Arc<dyn Dataset> = Arc::new(Synthetic::new(5, 16, 0));
    let start = |spec: BatchSpec, from: Position| {
        let started = BatchStream::start(Arc::clone(&data), tokenizer(), spec, from);
        started.err().unwrap()
    };
    let few = start(spec(6), Position::default());
    is_bad_usage(&few, &["(one batch), found 5"]);
    let beyond = start(spec(2), Position { epoch: 3, index: 9 });
    let words = ["record 9 of epoch 3, but the data contains 5"];
    is_bad_usage(&beyond, &words);
}

/// A dataset whose second unit makes its reader panic.
struct Panics(Synthetic);

impl Dataset for Panics {
    fn units(&self) -> &[Unit] {
        self.0.units()
    }
    fn shard_name(&self, shard: u32) -> &str {
        self.0.shard_name(shard)
    }
    fn load(&self, unit: usize) -> Result<Box<dyn Records>, fault::Broken> {
        assert!(unit == 0, "unit {unit} is no good");
        self.0.load(unit)
    }
}

#[test]
fn a_panic_of_a_worker_reaches_the_consumer_as_an_error() {
    let data: Arc<dyn Dataset> = Arc::new(Panics(Synthetic::new(600, 16, 0)));
    let mut batches = stream(data, spec(100), Position::default());
    let error = batches.find_map(Result::err).unwrap();
    assert!(
        matches!(&error, DataError::Worker(text) if text.contains("is no good")),
        "{error}"
    );
    assert_eq!(error.exit_code(), 1);
    assert!(batches.next().is_none());
}

#[test]
fn dropping_the_stream_stops_its_threads() {
    let data: Arc<dyn Dataset> = Arc::new(Synthetic::new(100_000, 16, 0));
    let mut batches = stream(Arc::clone(&data), spec(32), Position::default());
    batches.next().unwrap().unwrap();
    drop(batches);
    // The producer held the other reference.
    assert_eq!(Arc::strong_count(&data), 1);
}
