//! Processes that share the images of a batch: together they have the batches of one process.

use std::path::Path;
use std::sync::Arc;

use espalier_trainer::config::Needs;
use espalier_trainer::data::records::source::Dataset;
use espalier_trainer::data::{Batch, BatchSpec, BatchStream, Position};

use crate::shards::{rows, write_parquet};
use crate::support::{open, spec, stream};

/// Position of a byte in the pixels of a PNG file, whose check sum it breaks.
const IN_PIXELS: usize = 60;

/// Writes 60 records; some have no usable image, which their headers show, and two have damaged
/// pixels, which only their decoder notices.
fn damaged(dir: &Path) -> Arc<dyn Dataset> {
    let mut rows = rows(0..60);
    rows[3].picture.clear();
    rows[20].picture.truncate(40);
    rows[41].noun_chunks[0][4] = 0.01;
    rows[41].noun_chunks.truncate(1);
    rows[41].ref_exps.clear();
    for number in [11, 37] {
        rows[number].picture[IN_PIXELS] ^= 0xff;
    }
    write_parquet(&dir.join("a.parquet"), &rows, 7);
    Arc::new(open(&[dir]).unwrap())
}

/// Returns the next batch of each process; all make it again where one of them asks for it.
fn next_of_all(streams: &mut [BatchStream], again: &mut usize) -> Vec<Batch> {
    let batches: Vec<Batch> = streams
        .iter_mut()
        .map(|s| s.next().unwrap().unwrap())
        .collect();
    if !streams.iter().any(BatchStream::is_incomplete) {
        return batches;
    }
    *again += 1;
    streams.iter_mut().map(|s| s.redo().unwrap()).collect()
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
            let mut shares: Vec<BatchStream> = (0..world)
                .map(|rank| {
                    let share = (rank, world);
                    let spec = BatchSpec {
                        share,
                        ..spec.clone()
                    };
                    stream(Arc::clone(&data), spec, Position::default())
                })
                .collect();
            let mut again = 0;
            // More than two epochs.
            for whole in whole.take(20).map(Result::unwrap) {
                let batches = next_of_all(&mut shares, &mut again);
                let mut images: Vec<u8> = Vec::new();
                let mut boxes: Vec<u8> = Vec::new();
                for batch in &batches {
                    assert_eq!(batch.keys, whole.keys);
                    assert_eq!(batch.captions, whole.captions);
                    assert_eq!(batch.phrases, whole.phrases);
                    assert_eq!(batch.synsets, whole.synsets);
                    assert_eq!(batch.position_after, whole.position_after);
                    assert_eq!(batch.skipped, whole.skipped);
                    assert_eq!(batch.image_rows.total, 7);
                    assert_eq!(batch.image_rows.first, images.len() / (3 * 16 * 16));
                    images.extend(&batch.images.pictures().unwrap().bytes);
                    let crops = batch.box_images.as_ref();
                    boxes.extend(crops.iter().flat_map(|b| &b.pictures().unwrap().bytes));
                }
                assert!(images == whole.images.pictures().unwrap().bytes);
                let crops = whole.box_images.as_ref();
                let crops = crops.map_or(&[][..], |b| &b.pictures().unwrap().bytes);
                assert!(boxes == crops);
            }
            assert!(
                (1..=6).contains(&again),
                "expected that each damaged image costs at most one batch an epoch, found {again}"
            );
        }
    }
}
