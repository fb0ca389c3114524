//! A lane over records that are unusable at chosen places of the epoch.

use image::RgbImage;
use rayon::ThreadPoolBuilder;

use super::*;
use crate::Needs;
use crate::records::fault::Cause;
use crate::records::order::ShuffleBudget;
use crate::sampling::draw::View;
use crate::sampling::flawed::{Flaw, Flawed};

impl Flawed {
    /// Adds a flaw to the records at these places of the first epoch, read as `spec` says.
    fn with_places(
        self,
        flaw: Flaw,
        places: impl Iterator<Item = usize>,
        spec: &BatchSpec,
    ) -> Self {
        let order = reading_order(&self, spec);
        self.with(flaw, places.map(|place| order[place]))
    }
}

/// Returns unit and row of the records of the first epoch, in order.
fn reading_order(data: &dyn Dataset, spec: &BatchSpec) -> Vec<(u32, u32)> {
    EpochOrder::new(data, spec.seed, 0, spec.shuffle_of_lane()).places(data)
}

fn keys_in_order(data: &dyn Dataset, spec: &BatchSpec) -> Vec<String> {
    let order = reading_order(data, spec);
    order.iter().map(|(u, row)| format!("{u}/{row}")).collect()
}

fn spec(needs: Needs) -> BatchSpec {
    BatchSpec {
        needs,
        min_box_px: 1.0,
        seed: 5,
        ..BatchSpec::new(4, 16, 77)
    }
}

fn shared(spec: &BatchSpec) -> Shared {
    Shared {
        spec: spec.clone(),
        pool: ThreadPoolBuilder::new().num_threads(2).build().unwrap(),
        stop: Arc::default(),
    }
}

/// Opens the first lane, with these rows of every batch, before record `index` of the first epoch.
fn lane(data: &Flawed, rows: Range<usize>, index: u64, spec: &BatchSpec) -> Lane {
    let progress = Progress::start(Position { epoch: 0, index });
    Lane::open(0, rows, Arc::new(data.clone()), spec, progress)
}

fn keys(drawn: &LaneSamples) -> Vec<&str> {
    let samples = drawn.samples.iter();
    samples.map(|sample| sample.key.as_str()).collect()
}

fn next(lane: &mut Lane, shared: &Shared) -> LaneSamples {
    lane.draw(shared, None).unwrap().unwrap()
}

fn failure(lane: &mut Lane, shared: &Shared) -> DataError {
    let drawn = lane.draw(shared, None);
    drawn.map(|_| ()).expect_err("expected an error")
}

/// Returns the usable samples, the rows and the counts of a lane with too few records.
fn too_few(lane: &mut Lane, shared: &Shared) -> (u64, usize, BrokenCounts) {
    match failure(lane, shared) {
        DataError::TooFewUsable {
            usable,
            batch_size,
            counts,
        } => (usable, batch_size, *counts),
        error => panic!("{error:?}"),
    }
}

/// Returns the counts and the limit of a lane with too many broken records.
fn too_many_broken(lane: &mut Lane, shared: &Shared) -> (BrokenCounts, f64) {
    match failure(lane, shared) {
        DataError::TooManyBroken { counts, limit } => (*counts, limit),
        error => panic!("{error:?}"),
    }
}

fn pixels(sample: &Sample) -> &RgbImage {
    match sample.content.image().unwrap() {
        View::Pixels(image) => image,
        View::Row(_) | View::Elsewhere => panic!("expected the pixels of {}", sample.key),
    }
}

#[test]
fn batches_follow_the_order_of_the_epoch_and_its_rest_is_dropped() {
    let small_groups = BatchSpec {
        shuffle: ShuffleBudget {
            records: 4,
            bytes: 100,
        },
        ..spec(Needs::Boxes)
    };
    let data = Flawed::new(&[4, 4, 4]);
    let shared = shared(&small_groups);
    let expected = keys_in_order(&data, &small_groups);
    let mut lane = lane(&data, 0..5, 0, &small_groups);
    assert_eq!(keys(&next(&mut lane, &shared)), expected[..5]);
    assert_eq!(data.read.load(Ordering::Relaxed), 5);
    assert_eq!(keys(&next(&mut lane, &shared)), expected[5..10]);
    let third = next(&mut lane, &shared);
    assert_eq!(third.samples.len(), 5);
    assert_eq!(third.skipped.seen, 2 + 5);
    assert_eq!(lane.position_after(), Position { epoch: 1, index: 5 });
    let _ = next(&mut lane, &shared);
    assert_eq!(next(&mut lane, &shared).skipped.seen, 2 + 5);
    assert_eq!(lane.position_after(), Position { epoch: 2, index: 5 });
}

#[test]
fn the_end_of_an_epoch_is_the_start_of_the_next() {
    let spec = spec(Needs::Captions);
    let data = Flawed::new(&[12]);
    let shared = shared(&spec);
    let mut lane = lane(&data, 0..6, 0, &spec);
    let _ = next(&mut lane, &shared);
    assert_eq!(data.read.load(Ordering::Relaxed), 6);
    assert_eq!(lane.position_after(), Position { epoch: 0, index: 6 });
    let _ = next(&mut lane, &shared);
    assert_eq!(lane.position_after(), Position { epoch: 1, index: 0 });
}

#[test]
fn lanes_differ_in_their_order_and_the_first_has_the_seed_of_the_run() {
    let spec = spec(Needs::Captions);
    let data = Flawed::new(&[40]);
    let shared = shared(&spec);
    let drawn = |number| {
        let data = Arc::new(data.clone());
        let start = Progress::start(Position::default());
        let drawn = next(&mut Lane::open(number, 0..8, data, &spec, start), &shared);
        keys(&drawn).join(" ")
    };
    assert_eq!(drawn(0), keys_in_order(&data, &spec)[..8].join(" "));
    assert_ne!(drawn(0), drawn(1));
    assert_ne!(drawn(1), drawn(2));
}

#[test]
fn what_is_drawn_for_a_record_depends_on_its_place_in_the_epoch_alone() {
    let spec = spec(Needs::Captions);
    let data = Flawed::new(&[12]);
    let shared = shared(&spec);
    let whole = next(&mut lane(&data, 0..8, 0, &spec), &shared);
    let later = next(&mut lane(&data, 0..4, 3, &spec), &shared);
    for (sample, again) in whole.samples[3..7].iter().zip(&later.samples) {
        assert_eq!(sample.key, again.key);
        assert_eq!(pixels(sample), pixels(again));
    }
}

#[test]
fn skipped_records_are_counted_by_their_flaw() {
    let spec = BatchSpec {
        max_broken: 1.0,
        ..spec(Needs::Boxes)
    };
    let data = Flawed::new(&[12])
        .with_places(Flaw::NoBox, [0, 2].into_iter(), &spec)
        .with_places(Flaw::Unreadable, [1, 4, 5].into_iter(), &spec);
    let drawn = next(&mut lane(&data, 0..4, 0, &spec), &shared(&spec));
    let order = keys_in_order(&data, &spec);
    assert_eq!(keys(&drawn), [&order[3], &order[6], &order[7], &order[8]]);
    let skipped = &drawn.skipped;
    assert_eq!((skipped.seen, skipped.no_usable_box), (9, 2));
    let unreadable = &skipped.by_cause[&Cause::UnreadableImage];
    assert_eq!(unreadable.count, 3);
    assert_eq!(unreadable.example.file, "flawed.tar");
    assert_eq!(unreadable.example.key, order[1]);
    assert!(!drawn.incomplete);
}

#[test]
fn storage_that_fails_ends_the_stream_at_once() {
    let spec = BatchSpec {
        max_broken: 1.0,
        ..spec(Needs::Captions)
    };
    let data = Flawed::new(&[12]).with_places(Flaw::StorageFailed, [1].into_iter(), &spec);
    let error = failure(&mut lane(&data, 0..4, 0, &spec), &shared(&spec));
    assert!(matches!(error, DataError::Storage { .. }), "{error:?}");
}

#[test]
fn broken_records_are_counted_against_the_limit_from_the_200th_record_on() {
    let spec = BatchSpec {
        max_broken: 0.5,
        ..spec(Needs::Captions)
    };
    let shared = shared(&spec);
    let half = Flawed::new(&[400]).with_places(Flaw::Unreadable, 0..100, &spec);
    let drawn = next(&mut lane(&half, 0..100, 0, &spec), &shared);
    assert_eq!(drawn.skipped.seen, 200);
    let more = half.with_places(Flaw::Unreadable, 150..151, &spec);
    let (counts, limit) = too_many_broken(&mut lane(&more, 0..100, 0, &spec), &shared);
    assert_eq!((counts.seen, counts.broken()), (200, 101));
    assert!((limit - 0.5).abs() < 1e-12);
}

#[test]
fn broken_records_of_a_short_epoch_are_counted_against_the_limit_at_its_end() {
    let spec = spec(Needs::Captions);
    let data = Flawed::new(&[10]).with_places(Flaw::Unreadable, 0..6, &spec);
    let (counts, _) = too_many_broken(&mut lane(&data, 0..6, 0, &spec), &shared(&spec));
    assert_eq!(counts.seen, 10);
    // Of the end of an epoch alone, too little is known.
    let data = Flawed::new(&[10]).with_places(Flaw::Unreadable, 8..10, &spec);
    let mut lane = lane(&data, 0..6, 8, &spec);
    let _ = next(&mut lane, &shared(&spec));
    assert_eq!(lane.position_after().epoch, 1);
}

#[test]
fn an_epoch_that_cannot_fill_a_batch_is_an_error() {
    let spec = spec(Needs::Boxes);
    let shared = shared(&spec);
    let data = Flawed::new(&[10]).with_places(Flaw::NoBox, 0..6, &spec);
    // The end of an epoch is followed by a whole one.
    for (index, seen) in [(0, 10), (7, 13)] {
        let (usable, rows, counts) = too_few(&mut lane(&data, 0..6, index, &spec), &shared);
        assert_eq!((usable, rows), (4, 6));
        assert_eq!((counts.seen, counts.no_usable_box), (seen, 6));
    }
}

#[test]
fn ten_thousand_unusable_records_in_a_row_are_an_error() {
    let spec = spec(Needs::Boxes);
    let shared = shared(&spec);
    let all = Flawed::new(&[10_300]).with_places(Flaw::NoBox, 0..10_300, &spec);
    let (usable, _, counts) = too_few(&mut lane(&all, 0..100, 0, &spec), &shared);
    assert_eq!((usable, counts.seen), (0, 10_000));
    // One usable record starts the count again.
    let places = (0..10_100).filter(|place| *place != 5_000);
    let two_rows = Flawed::new(&[10_300]).with_places(Flaw::NoBox, places, &spec);
    let drawn = next(&mut lane(&two_rows, 0..100, 0, &spec), &shared);
    assert_eq!(drawn.skipped.no_usable_box, 10_099);
}

#[test]
fn records_without_a_chain_are_counted() {
    let spec = spec(Needs::Chains);
    let mut lane = lane(&Flawed::new(&[7]), 0..4, 0, &spec);
    let (_, _, counts) = too_few(&mut lane, &shared(&spec));
    assert_eq!((counts.seen, counts.no_chain), (7, 7));
    assert_eq!(counts.no_usable_box, 0);
}

#[test]
fn a_process_decodes_the_images_of_its_own_rows() {
    let spec = BatchSpec {
        max_broken: 1.0,
        ..spec(Needs::Boxes)
    };
    let shared = shared(&spec);
    let data = Flawed::new(&[20]).with_places(Flaw::NoBox, [0, 3].into_iter(), &spec);
    let whole = next(&mut lane(&data, 10..16, 0, &spec), &shared);
    // The sixth and seventh record fill the last two rows, since two were skipped.
    let own = 13..15;
    let drawn = lane(&data, 10..16, 0, &spec).draw(&shared, Some(&own));
    let drawn = drawn.unwrap().unwrap();
    assert_eq!(keys(&drawn), keys(&whole));
    assert!(!drawn.incomplete);
    for (row, (sample, all)) in (10..).zip(drawn.samples.iter().zip(&whole.samples)) {
        if own.contains(&row) {
            assert_eq!(pixels(sample), pixels(all));
        } else {
            let image = sample.content.image();
            assert!(matches!(image, Some(View::Elsewhere)), "{row}");
        }
    }
}

#[test]
fn damaged_pixels_are_noticed_by_the_process_that_decodes_them() {
    let spec = BatchSpec {
        max_broken: 1.0,
        ..spec(Needs::Captions)
    };
    let shared = shared(&spec);
    let data = Flawed::new(&[20]).with_places(Flaw::DamagedPixels, [1].into_iter(), &spec);
    let incomplete = |own: Range<usize>| {
        let drawn = lane(&data, 0..6, 0, &spec).draw(&shared, Some(&own));
        let drawn = drawn.unwrap().unwrap();
        assert_eq!(drawn.samples.len(), 6);
        drawn.incomplete
    };
    assert!(incomplete(0..3));
    assert!(!incomplete(3..6));
    let whole = next(&mut lane(&data, 0..6, 0, &spec), &shared);
    assert_eq!((whole.skipped.seen, whole.skipped.broken()), (7, 1));
}

#[test]
fn boxes_of_other_images_are_drawn_only_where_they_are_trained_on() {
    let drawn = |needs, cross_image| {
        let spec = BatchSpec {
            cross_image,
            ..spec(needs)
        };
        let data = Flawed::new(&[40]);
        let drawn = next(&mut lane(&data, 0..8, 0, &spec), &shared(&spec));
        let scenes = drawn.samples.iter().filter_map(|s| s.content.scene());
        let companions = scenes.map(|(_, companions)| companions.len());
        (companions.sum::<usize>(), data.read.load(Ordering::Relaxed))
    };
    // Once for the boxes of the group, once for the samples, once for each box of another image.
    let (companions, read) = drawn(Needs::Parts, 1);
    assert!(companions > 0);
    assert_eq!(read, 40 + 8 + companions);
    assert_eq!(drawn(Needs::Parts, 0), (0, 8));
    assert_eq!(drawn(Needs::Boxes, 1), (0, 8));
}

#[test]
fn the_units_of_the_next_group_are_fetched_ahead() {
    let spec = BatchSpec {
        shuffle: ShuffleBudget {
            records: 8,
            bytes: 100,
        },
        ..spec(Needs::Captions)
    };
    let data = Flawed::new(&[4; 6]);
    let shared = shared(&spec);
    let order = EpochOrder::new(&data, spec.seed, 0, spec.shuffle_of_lane());
    let units = |groups: Range<usize>| -> Vec<usize> {
        let units = groups.flat_map(|number| order.group(number).units.clone());
        units.map(|unit| unit as usize).collect()
    };
    let mut lane = lane(&data, 0..6, 0, &spec);
    let fetched = || data.fetched.lock().unwrap().clone();
    let _ = next(&mut lane, &shared);
    let _ = next(&mut lane, &shared);
    // The second group is open, so its units are there.
    assert_eq!(fetched()[..2], units(1..2));
    let _ = next(&mut lane, &shared);
    drop(lane);
    assert_eq!(fetched(), units(1..3));
}

#[test]
fn a_dropped_stream_ends_its_lanes() {
    let spec = spec(Needs::Captions);
    let data = Flawed::new(&[12]);
    let shared = shared(&spec);
    shared.stop.store(true, Ordering::Relaxed);
    let drawn = lane(&data, 0..4, 0, &spec).draw(&shared, None);
    assert!(drawn.unwrap().is_none());
    let order = EpochOrder::new(&data, spec.seed, 0, spec.shuffle_of_lane());
    let dataset: Arc<dyn Dataset> = Arc::new(data.clone());
    drop(Ahead::fetch(order.group(0), &dataset, &shared.stop));
    assert!(data.fetched.lock().unwrap().is_empty());
}
