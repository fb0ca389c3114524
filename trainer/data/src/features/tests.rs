//! Tests of caching, of recomputation, and of batches with precomputed features.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use espalier_checkpoints::model_file::MERGES;
use espalier_core::input::{Preprocess, RandomCrop, ResizeMode, Tokenizer};

use super::*;
use crate::{
    Batch, BatchSpec, BatchStream, Dataset, ImageBatch, Needs, Pixels, Position, Positions,
    Synthetic,
};

/// An encoder whose feature consists of the mean of each channel, scaled to [0, 6], and a constant.
struct ChannelMeans {
    identity: String,
    images: AtomicUsize,
    /// Interrupts the run after this many calls.
    calls_left: AtomicUsize,
    stop: AtomicBool,
}

impl ChannelMeans {
    fn new(identity: &str) -> Self {
        Self {
            identity: identity.to_owned(),
            images: AtomicUsize::new(0),
            calls_left: AtomicUsize::new(usize::MAX),
            stop: AtomicBool::new(false),
        }
    }
}

impl Encoder for ChannelMeans {
    fn width(&self) -> usize {
        4
    }

    fn identity(&self) -> &str {
        &self.identity
    }

    fn encode(&self, images: &Pixels) -> anyhow::Result<Vec<f32>> {
        self.images.fetch_add(images.count, Ordering::Relaxed);
        if self.calls_left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.stop.store(true, Ordering::Relaxed);
        }
        let plane = images.size * images.size;
        let mean = |plane: &[u8]| {
            plane.iter().map(|v| f32::from(*v)).sum::<f32>() / (plane.len() as f32 * 42.5)
        };
        let rows = images.bytes.chunks_exact(3 * plane);
        Ok(rows
            .flat_map(|row| row.chunks_exact(plane).map(mean).chain([1.0]))
            .collect())
    }
}

fn spec() -> BatchSpec {
    BatchSpec {
        needs: Needs::Boxes,
        white_pad: false,
        mirror: true,
        min_box_px: 4.0,
        augment: Some(RandomCrop::default()),
        ..BatchSpec::new(8, 16, 32)
    }
}

fn precomputed(
    encoder: &ChannelMeans,
    data: &Arc<dyn Dataset>,
    folder: Option<&Path>,
    views: u32,
    crops: bool,
) -> anyhow::Result<PrecomputedFeatures> {
    let settings = PrecomputeSettings {
        encoder,
        views: ViewSpec {
            evaluation: Preprocess::new(16, ResizeMode::CentreCrop),
            views,
            augmented: spec(),
        },
        crops,
        folder: folder.map(Path::to_owned),
        max_records: None,
        stop: &encoder.stop,
    };
    precompute(data, &settings, &mut |_| Ok(()))
}

fn synthetic(records: u64, seed: u64) -> Arc<dyn Dataset> {
    Arc::new(Synthetic::new(records, 32, seed))
}

fn batches(features: &PrecomputedFeatures, from: impl Into<Positions>, count: usize) -> Vec<Batch> {
    let tokenizer = Arc::new(Tokenizer::from_merges(MERGES, 8192).unwrap());
    let spec = BatchSpec {
        features: Some(Arc::clone(&features.rows)),
        augment: None,
        mirror: false,
        ..spec()
    };
    let stream = BatchStream::start(Arc::clone(&features.data), tokenizer, spec, from).unwrap();
    stream.take(count).map(Result::unwrap).collect()
}

#[test]
fn cached_features_are_not_computed_again() {
    let dir = tempfile::tempdir().unwrap();
    let data = synthetic(300, 0);
    let of = |encoder: &ChannelMeans, data: &Arc<dyn Dataset>, views, crops| {
        precomputed(encoder, data, Some(dir.path()), views, crops).unwrap()
    };
    let first = ChannelMeans::new("a");
    let photos = of(&first, &data, 1, false);
    assert_eq!((photos.computed, photos.rows.count()), (300, 300));
    // With boxes, the features of the photos already exist; a second view is new.
    let crops = of(&first, &data, 1, true);
    assert!(crops.computed > 0);
    assert_eq!(crops.rows.count(), 300 + crops.computed);
    let views = of(&first, &data, 2, true);
    assert_eq!(views.computed, crops.rows.count());
    let again = ChannelMeans::new("a");
    let same = of(&again, &data, 2, true);
    assert_eq!(same.computed, 0);
    assert_eq!(again.images.load(Ordering::Relaxed), 0);
    for row in 0..same.rows.count() {
        assert_eq!(same.rows.row(row), views.rows.row(row));
    }
    // Other weights or other images: no cached file matches.
    assert_eq!(of(&ChannelMeans::new("b"), &data, 1, false).computed, 300);
    assert_eq!(of(&first, &synthetic(300, 1), 1, false).computed, 300);
}

#[test]
fn complete_files_survive_an_interruption() {
    let dir = tempfile::tempdir().unwrap();
    let data = synthetic(600, 0);
    let encoder = ChannelMeans::new("a");
    // Stops within the second file: 256 records take 16 calls.
    encoder.calls_left.store(20, Ordering::Relaxed);
    let error = precomputed(&encoder, &data, Some(dir.path()), 1, false);
    let error = error.err().unwrap().to_string();
    assert!(error.contains("256 of 600 records"), "{error}");
    let next = precomputed(&ChannelMeans::new("a"), &data, Some(dir.path()), 1, false).unwrap();
    assert_eq!(next.computed, 600 - 256);
}

#[test]
fn view_0_is_the_evaluation_crop_and_the_others_are_augmented() {
    let data = synthetic(20, 0);
    let found = precomputed(&ChannelMeans::new("a"), &data, None, 3, true).unwrap();
    let records = found.data.load(0).unwrap();
    let plain = data.load(0).unwrap().read(0).unwrap();
    let record = records.read(0).unwrap();
    assert_eq!((&record.key, &record.caption), (&plain.key, &plain.caption));
    let crate::records::record_image::RecordImage::Features(photo) = record.image else {
        panic!("expected features")
    };
    assert_eq!(photo.views, 3);
    let evaluation = Preprocess::new(16, ResizeMode::CentreCrop);
    let square = evaluation.apply(&plain.image.decode().unwrap()).unwrap();
    let square = Pixels::pack(16, &[&square]);
    let expected = ChannelMeans::new("").encode(&square).unwrap();
    let rows = found.rows.gather(&[0, 1, 2].map(|view| photo.first + view));
    for (found, known) in rows.values.iter().zip(&expected) {
        assert!((found - known).abs() < 2e-3, "{found} is not {known}");
    }
    assert_ne!(rows.values[..4], rows.values[4..8]);
    assert_ne!(rows.values[4..8], rows.values[8..]);
}

#[test]
fn batches_have_features_and_resume_with_the_same_ones() {
    let data = synthetic(64, 0);
    let found = precomputed(&ChannelMeans::new("a"), &data, None, 2, true).unwrap();
    assert_eq!(data.fingerprint(), found.data.fingerprint());
    let whole = batches(&found, Position::default(), 6);
    let rest = batches(&found, whole[1].position_after.clone(), 4);
    for (a, b) in whole[2..].iter().zip(&rest) {
        assert_eq!((&a.keys, &a.images), (&b.keys, &b.images));
        assert_eq!(a.content, b.content);
    }
    let Some(ImageBatch::Features(boxes)) = whole[0].content.box_images() else {
        panic!("expected features of boxes")
    };
    assert_eq!((boxes.count, boxes.width, boxes.values.len()), (8, 4, 32));
    let mut rows = boxes.values.chunks(4);
    assert!(rows.all(|row| row[3] == 1.0 && row[0] <= 6.0));
    // Over six epochs, a photo appears in exactly its two views.
    let mut seen: BTreeMap<String, BTreeSet<Vec<u32>>> = BTreeMap::new();
    for batch in batches(&found, Position::default(), 48) {
        let rows = batch.images.features().unwrap().values.chunks(4);
        for (key, row) in batch.keys.iter().zip(rows) {
            let bits = row.iter().map(|v| v.to_bits()).collect();
            seen.entry(key.clone()).or_default().insert(bits);
        }
    }
    assert!(seen.values().all(|rows| rows.len() <= 2));
    assert!(seen.values().filter(|rows| rows.len() == 2).count() > 32);
}

#[test]
fn features_of_outliers_are_computed_once() {
    let dir = tempfile::tempdir().unwrap();
    let first = ChannelMeans::new("a");
    let pool = precompute_outliers(&first, 16, Some(dir.path())).unwrap();
    assert_eq!((pool.count(), pool.width()), (512, 4));
    let again = ChannelMeans::new("a");
    let same = precompute_outliers(&again, 16, Some(dir.path())).unwrap();
    assert_eq!(again.images.load(Ordering::Relaxed), 0);
    assert_eq!(same.row(511), pool.row(511));
}
