//! Passes over a whole dataset: evaluation, preparation, and the synthetic dataset.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use espalier_core::input::{Preprocess, ResizeMode};
use espalier_trainer::data::records::source::Dataset;
use espalier_trainer::data::tools::prepare::prepare;
use espalier_trainer::data::{EvalSet, Synthetic};

use crate::data::shards::{image, rows, write_parquet};
use crate::data::support::{audited, dataset, error_of, first, open, spec};

#[test]
fn evaluation_goes_through_all_samples_in_file_order() {
    let dir = tempfile::tempdir().unwrap();
    let mut rows = rows(0..9);
    rows[4].image.clear();
    // The blue half is now the larger box.
    rows[1].noun_chunks[1][2] = 0.2;
    let data = dataset(dir.path(), &rows, 4);
    let preprocess = Preprocess::new(16, ResizeMode::CentreCrop);
    let mut set = EvalSet::new(data, preprocess, 3, 2).unwrap();
    let batches: Vec<_> = set.by_ref().collect();
    let keys: Vec<&[String]> = batches.iter().map(|batch| batch.keys.as_slice()).collect();
    let wanted = [&[0, 1, 2][..], &[3, 5, 6], &[7, 8]];
    let wanted = wanted.map(|of| of.iter().map(|i| format!("{i:06}")).collect::<Vec<_>>());
    assert_eq!(keys, wanted);
    let images = batches.iter().map(|batch| batch.images.count);
    assert_eq!(images.collect::<Vec<_>>(), [3, 3, 2]);
    let label = |i: usize| batches[0].labels[i].as_deref().unwrap();
    assert_eq!((label(0), label(1)), ("red_half", "blue_half"));
    let straight = preprocess.apply(&image(0)).unwrap();
    assert_eq!(
        batches[0].images.to_planes()[..3 * 256],
        espalier_core::input::to_planes(&[straight])
    );
    assert_eq!((set.counts().seen, set.counts().broken()), (9, 1));
    assert!(set.check_broken(0.2).is_ok() && set.check_broken(0.0).is_err());
}

#[test]
fn preparing_can_be_interrupted_and_continued() {
    let dir = tempfile::tempdir().unwrap();
    let (input, out) = (dir.path().join("in"), dir.path().join("out"));
    fs::create_dir(&input).unwrap();
    let mut second = rows(5..9);
    second[1].image.clear();
    // 0.1 x 0.1 of the image: too small.
    second[2].noun_chunks = vec![vec![2.0, 10.0, 0.0, 0.0, 0.1, 0.1, 1.0]];
    second[2].ref_exps.clear();
    write_parquet(&input.join("a.parquet"), &rows(0..5), 2);
    write_parquet(&input.join("b.parquet"), &second, 2);
    let data = open(&[&input]).unwrap();
    let whole = prepare(&data, &out, &|_| ()).unwrap();
    assert_eq!((whole.written, whole.already_done), (7, 0));
    assert_eq!(whole.shards.len(), 2);
    assert_eq!((whole.counts.broken(), whole.counts.no_usable_box), (1, 1));
    let tar = |i: usize| fs::read(out.join(format!("{i:05}.tar"))).unwrap();
    let before = [tar(0), tar(1)];

    fs::remove_file(out.join("00001.tar")).unwrap();
    fs::write(out.join("00001.tar.tmp"), "half of it").unwrap();
    let again = prepare(&data, &out, &|_| ()).unwrap();
    assert_eq!((again.already_done, again.written), (1, 7));
    assert_eq!([tar(0), tar(1)], before);
    assert!(!out.join("00001.tar.tmp").exists());
    // A kill after the first tar leaves the list of the finished ones, under its own name.
    let listed = fs::read(out.join("prepared.json")).unwrap();
    assert!(!out.join("preparing.json").exists());
    fs::remove_file(out.join("00001.tar")).unwrap();
    let lacks = |path: &Path| error_of(path).to_string();
    let told = lacks(&out);
    assert!(told.contains("00001.tar"), "{told}");
    fs::rename(out.join("prepared.json"), out.join("preparing.json")).unwrap();
    for path in [out.clone(), out.join("*.tar")] {
        let told = lacks(&path);
        assert!(told.contains("has not ended"), "{told}");
    }
    let units = |path: &Path| open(&[path]).unwrap().units().len();
    assert_eq!(units(&out.join("00000.tar")), 1);
    prepare(&data, &out, &|_| ()).unwrap();
    assert_eq!(fs::read(out.join("prepared.json")).unwrap(), listed);
    assert_eq!(units(&out), 2);

    write_parquet(&input.join("c.parquet"), &rows(9..10), 2);
    let error = prepare(&open(&[&input]).unwrap(), &out, &|_| ()).unwrap_err();
    let told = "started with other input shards";
    assert!(error.to_string().contains(told), "{error}");
    assert_eq!(error.exit_code(), 2);
}

#[test]
fn synthetic_data_comes_in_batches_like_any_other() {
    let data: Arc<dyn Dataset> = Arc::new(Synthetic::new(100, 32, 5));
    let batches = first(&data, spec(25), 4);
    let keys: BTreeSet<&String> = batches.iter().flat_map(|batch| &batch.keys).collect();
    assert_eq!(keys.len(), 100);
    let batch = &batches[0];
    let pixels = batch.images.pixels().unwrap().bytes.len();
    assert_eq!(pixels, 25 * 3 * 16 * 16);
    assert_eq!(batch.captions.rows, 25);
    assert!(batch.captions.len <= 32);
    assert!(batch.synsets.iter().all(Option::is_some));
    assert_eq!(audited(&*data).broken, 0);
}

#[test]
fn the_fingerprint_tells_other_shards_apart() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    write_parquet(&at("a.parquet"), &rows(0..4), 2);
    fs::create_dir(at("moved")).unwrap();
    fs::copy(at("a.parquet"), at("moved").join("a.parquet")).unwrap();
    write_parquet(&at("b.parquet"), &rows(0..5), 2);
    let of = |path: PathBuf| open(&[&path]).unwrap().fingerprint();
    assert_eq!(of(at("a.parquet")), of(at("moved").join("a.parquet")));
    assert_ne!(of(at("a.parquet")), of(at("b.parquet")));
    assert_eq!(of(at("a.parquet")).len(), 64);
}
