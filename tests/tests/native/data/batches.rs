//! Contents and order of batches, and continuation of a run.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use espalier_trainer::data::records::source::Dataset;
use espalier_trainer::data::{Batch, BatchSpec, Position};

use crate::data::shards::{Row, raw_tar, row, rows, write_parquet};
use crate::data::support::{dataset, first, open, spec, stream, take, tokenizer};

/// Writes six row groups and a tar, 70 records in all, and opens them.
fn mixed(dir: &Path) -> Arc<dyn Dataset> {
    write_parquet(&dir.join("a.parquet"), &rows(0..40), 7);
    fs::write(dir.join("b.tar"), raw_tar(&rows(40..70))).unwrap();
    Arc::new(open(&[dir]).unwrap())
}

fn at(epoch: u64, index: u64) -> Position {
    Position { epoch, index }
}

fn same(a: &Batch, b: &Batch) {
    assert_eq!(a.keys, b.keys);
    assert_eq!(a.images, b.images);
    assert_eq!(a.captions, b.captions);
    assert_eq!(a.content, b.content);
    assert_eq!(a.synsets, b.synsets);
    assert_eq!(a.position_after, b.position_after);
}

#[test]
fn an_epoch_holds_every_record_once_and_the_next_has_another_order() {
    let dir = tempfile::tempdir().unwrap();
    let data = mixed(dir.path());
    let batches = first(&data, spec(10), 14);
    let epochs = batches.chunks(7).map(|epoch| {
        let keys = epoch.iter().flat_map(|batch| batch.keys.clone());
        keys.collect::<Vec<String>>()
    });
    let epochs: Vec<_> = epochs.collect();
    for keys in &epochs {
        assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), 70);
    }
    assert_ne!(epochs[0], epochs[1]);
    assert_eq!(batches[6].position_after, at(1, 0));
    assert_eq!(batches[7].position_after, at(1, 10));
}

#[test]
fn the_last_partial_batch_is_dropped() {
    let dir = tempfile::tempdir().unwrap();
    let batches = first(&mixed(dir.path()), spec(16), 5);
    assert_eq!(batches[3].position_after, at(0, 64));
    assert_eq!(batches[4].position_after, at(1, 16));
    assert_eq!(batches[4].keys.iter().collect::<BTreeSet<_>>().len(), 16);
    // The six records of the dropped batch count as read.
    assert_eq!(batches[4].skipped.seen, 22);
}

#[test]
fn a_run_resumed_in_the_middle_continues_with_the_same_batches() {
    let dir = tempfile::tempdir().unwrap();
    let data = mixed(dir.path());
    let unbroken = first(&data, spec(8), 20);
    for stop in [0, 3, 7, 8, 15] {
        let from = unbroken[stop].position_after.clone();
        let resumed = take(stream(Arc::clone(&data), spec(8), from), 4);
        for (a, b) in resumed.iter().zip(&unbroken[stop + 1..]) {
            same(a, b);
        }
    }
}

#[test]
fn the_number_of_workers_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let data = mixed(dir.path());
    let with = |workers: usize| first(&data, BatchSpec { workers, ..spec(9) }, 12);
    for (a, b) in with(1).iter().zip(&with(2)) {
        same(a, b);
    }
}

#[test]
fn a_box_and_its_phrase_belong_together() {
    let dir = tempfile::tempdir().unwrap();
    let spec = BatchSpec {
        augment: None,
        white_pad: false,
        ..spec(16)
    };
    let batches = first(&mixed(dir.path()), spec, 8);
    let tokenizer = tokenizer();
    let blue = tokenizer.encode("blue half", 32);
    let mut seen = BTreeSet::new();
    for batch in &batches {
        let crops = batch.content.box_images().unwrap().pixels().unwrap();
        let phrases = batch.content.texts().unwrap();
        let plane = crops.size * crops.size;
        for i in 0..crops.count {
            let red = crops.bytes[i * 3 * plane..][..plane].iter();
            let red = red.map(|&v| u64::from(v));
            let is_blue = red.sum::<u64>() / (plane as u64) < 100;
            let tokens = &phrases.ids[i * phrases.len..][..phrases.len.min(blue.len())];
            assert_eq!(tokens == blue.as_slice(), is_blue);
            let synset = if is_blue { "blue_half" } else { "red_half" };
            assert_eq!(batch.synsets[i].as_deref(), Some(synset));
            seen.insert(is_blue);
        }
    }
    assert_eq!(seen.len(), 2, "expected both boxes to be chosen");
}

#[test]
fn image_and_crop_are_augmented_apart_and_anew_in_each_epoch() {
    let dir = tempfile::tempdir().unwrap();
    // One box that covers the whole image: crop and image differ only by the augmentation.
    let rows: Vec<Row> = (0..4)
        .map(|i| Row {
            noun_chunks: vec![vec![2.0, 5.0, 0.0, 0.0, 1.0, 1.0, 1.0]],
            ref_exps: vec![],
            synsets: vec![],
            ..row(i)
        })
        .collect();
    let data = dataset(dir.path(), &rows, 4);
    let batches = first(&data, spec(4), 2);
    assert_ne!(Some(&batches[0].images), batches[0].content.box_images());
    let of_key = |batch: &Batch, key: &str| {
        let i = batch.keys.iter().position(|k| k == key).unwrap();
        batch.images.pixels().unwrap().bytes[i * 3 * 256..][..3 * 256].to_vec()
    };
    assert_ne!(of_key(&batches[0], "000002"), of_key(&batches[1], "000002"));
    let plain = BatchSpec {
        augment: None,
        ..spec(4)
    };
    let batches = first(&data, plain, 1);
    assert_eq!(Some(&batches[0].images), batches[0].content.box_images());
}
