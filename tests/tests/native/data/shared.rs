//! Processes that share the images of a batch: together they have the batches of one process.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};

use espalier_tests::ranks::on_ranks;
use espalier_trainer::config::Needs;
use espalier_trainer::data::records::fault::Broken;
use espalier_trainer::data::records::source::{Dataset, Records, Unit};
use espalier_trainer::data::{Batch, BatchSpec, BatchStream, Position, Positions};
use espalier_trainer::fit::shared_batches::next_batch;

use crate::data::shards::rows;
use crate::data::support::{dataset, spec, stream, tokenizer};

/// Position of a byte in the pixels of a PNG file, whose check sum it breaks.
const IN_PIXELS: usize = 60;

/// Writes 60 records; some have no usable image, which their headers show, and two have damaged
/// pixels, which only their decoder notices.
fn damaged(dir: &Path) -> Arc<dyn Dataset> {
    let mut rows = rows(0..60);
    rows[3].image.clear();
    rows[20].image.truncate(40);
    rows[41].noun_chunks[0][4] = 0.01;
    rows[41].noun_chunks.truncate(1);
    rows[41].ref_exps.clear();
    for number in [11, 37] {
        rows[number].image[IN_PIXELS] ^= 0xff;
    }
    dataset(dir, &rows, 7)
}

/// Returns the next batch of each process; all make it again where one of them asks for it.
fn next_of_all(streams: &mut [BatchStream], again: &mut usize) -> Vec<Batch> {
    let next = |stream: &mut BatchStream| stream.next().unwrap().unwrap();
    let batches: Vec<Batch> = streams.iter_mut().map(next).collect();
    if !streams.iter().any(BatchStream::is_incomplete) {
        return batches;
    }
    *again += 1;
    let redo = |stream: &mut BatchStream| stream.redo().unwrap().remove(0).batch;
    streams.iter_mut().map(redo).collect()
}

/// Checks that the batches of all processes are those of one: equal texts, and its images in parts.
fn are_shares_of(batches: &[Batch], whole: &Batch) {
    let (mut images, mut boxes) = (Vec::new(), Vec::new());
    for batch in batches {
        assert_eq!(batch.keys, whole.keys);
        assert_eq!(batch.captions, whole.captions);
        assert_eq!(batch.content.texts(), whole.content.texts());
        assert_eq!(batch.synsets, whole.synsets);
        assert_eq!(batch.position_after, whole.position_after);
        assert_eq!(batch.skipped, whole.skipped);
        assert_eq!(batch.image_rows.total, whole.keys.len());
        assert_eq!(batch.image_rows.first, images.len() / (3 * 16 * 16));
        images.extend_from_slice(&batch.images.pixels().unwrap().bytes);
        if let Some(crops) = batch.content.box_images() {
            boxes.extend_from_slice(&crops.pixels().unwrap().bytes);
        }
    }
    assert!(images == whole.images.pixels().unwrap().bytes);
    let crops = whole.content.box_images();
    assert!(boxes == crops.map_or(&[][..], |b| &b.pixels().unwrap().bytes));
}

#[test]
fn the_shares_of_all_processes_are_the_batches_of_one() {
    let dir = tempfile::tempdir().unwrap();
    let data = damaged(dir.path());
    for needs in [Needs::Boxes, Needs::Captions] {
        for world in [2, 3, 4] {
            let spec = BatchSpec {
                needs,
                mirror: true,
                max_broken: 1.0,
                ..spec(7)
            };
            let whole = stream(Arc::clone(&data), spec.clone(), Position::default());
            let share = |rank| {
                let share = (rank, world);
                let spec = BatchSpec {
                    share,
                    ..spec.clone()
                };
                stream(Arc::clone(&data), spec, Position::default())
            };
            let mut shares: Vec<BatchStream> = (0..world).map(share).collect();
            let mut again = 0;
            // More than two epochs.
            for whole in whole.take(20).map(Result::unwrap) {
                let batches = next_of_all(&mut shares, &mut again);
                are_shares_of(&batches, &whole);
            }
            // Each damaged image costs at most one batch an epoch.
            assert!((1..=6).contains(&again), "{again}");
        }
    }
}

/// A dataset that notes which units are loaded.
struct Watched {
    data: Arc<dyn Dataset>,
    loaded: Mutex<BTreeSet<usize>>,
}

impl Dataset for Watched {
    fn units(&self) -> &[Unit] {
        self.data.units()
    }
    fn shard_name(&self, shard: u32) -> &str {
        self.data.shard_name(shard)
    }
    fn load(&self, unit: usize) -> Result<Box<dyn Records>, Broken> {
        self.loaded.lock().unwrap().insert(unit);
        self.data.load(unit)
    }
}

fn in_lanes(lanes: usize, needs: Needs) -> BatchSpec {
    BatchSpec {
        needs,
        lanes,
        mirror: true,
        max_broken: 1.0,
        ..spec(8)
    }
}

/// Returns more than two epochs of batches of a single process.
fn of_one_process(data: &Arc<dyn Dataset>, spec: BatchSpec) -> Vec<Batch> {
    let start = Positions::start(spec.lanes);
    let whole = stream(Arc::clone(data), spec, start);
    whole.take(16).map(Result::unwrap).collect()
}

#[test]
fn lanes_give_any_number_of_processes_the_batches_of_one() {
    let dir = tempfile::tempdir().unwrap();
    let data = damaged(dir.path());
    for (lanes, world) in [(2, 2), (4, 2), (4, 3), (4, 4), (3, 2), (2, 4), (8, 9)] {
        for needs in [Needs::Boxes, Needs::Captions] {
            let spec = in_lanes(lanes, needs);
            let whole = of_one_process(&data, spec.clone());
            let shares = on_ranks(world, |ranks| {
                let spec = BatchSpec {
                    share: (ranks.rank(), world),
                    ..spec.clone()
                };
                let mut stream = stream(Arc::clone(&data), spec, Positions::start(lanes));
                let next = |_| next_batch(&mut stream, &*ranks).unwrap();
                (0..whole.len()).map(next).collect::<Vec<Batch>>()
            });
            for (at, whole) in whole.iter().enumerate() {
                let batches: Vec<Batch> = shares.iter().map(|all| all[at].clone()).collect();
                are_shares_of(&batches, whole);
            }
        }
    }
}

#[test]
fn a_process_loads_only_the_units_of_its_lanes() {
    let dir = tempfile::tempdir().unwrap();
    let data = damaged(dir.path());
    let all = 0..data.units().len();
    let loaded = on_ranks(3, |ranks| {
        let watched = Arc::new(Watched {
            data: Arc::clone(&data),
            loaded: Mutex::default(),
        });
        let spec = BatchSpec {
            share: (ranks.rank(), 3),
            batch_size: 6,
            ..in_lanes(3, Needs::Captions)
        };
        let source: Arc<dyn Dataset> = watched.clone();
        let mut stream = stream(source, spec, Positions::start(3));
        // Two epochs.
        (0..20).for_each(|_| drop(next_batch(&mut stream, &*ranks).unwrap()));
        drop(stream);
        watched.loaded.lock().unwrap().clone()
    });
    let mut together: Vec<usize> = loaded.iter().flatten().copied().collect();
    together.sort_unstable();
    assert!(together.into_iter().eq(all), "{loaded:?}");
}

#[test]
fn each_lane_reads_its_records_once_an_epoch_and_resumes_there() {
    let dir = tempfile::tempdir().unwrap();
    let mut records = rows(0..56);
    records.iter_mut().for_each(|row| row.ref_exps.clear());
    let data = dataset(dir.path(), &records, 7);
    // Four lanes of two units, two rows of a batch each: seven batches are an epoch of all lanes.
    let spec = in_lanes(4, Needs::Captions);
    let whole = of_one_process(&data, spec.clone());
    for epoch in whole.chunks_exact(7) {
        let keys: BTreeSet<&String> = epoch.iter().flat_map(|batch| &batch.keys).collect();
        assert_eq!(keys.len(), 56);
    }
    for stop in [0, 4, 6, 9] {
        let from = whole[stop].position_after.clone();
        let resumed = stream(Arc::clone(&data), spec.clone(), from);
        for (batch, expected) in resumed.map(Result::unwrap).zip(&whole[stop + 1..]) {
            assert_eq!(batch.keys, expected.keys);
            assert_eq!(batch.images, expected.images);
        }
    }
}

#[test]
fn more_lanes_than_units_and_positions_of_other_lanes_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let data = dataset(dir.path(), &rows(0..20), 7);
    let error = |lanes, from: Positions| {
        let spec = in_lanes(lanes, Needs::Captions);
        let stream = BatchStream::start(Arc::clone(&data), tokenizer(), spec, from);
        stream.err().unwrap().to_string()
    };
    let message = error(4, Positions::start(4));
    assert!(message.contains("each of 4 lanes, found 3"), "{message}");
    let message = error(2, Position::default().into());
    assert!(message.starts_with("lanes must be the number"), "{message}");
}
