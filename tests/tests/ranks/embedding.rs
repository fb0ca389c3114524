//! Several ranks embed and evaluate what one process does.

use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use burn::tensor::Device;
use espalier_core::weights::Tensors;
use espalier_tests::models::{tiny, tiny_path};
use espalier_tests::photos::{jpeg, keep, landscape, noise};
use espalier_tests::ranks::on_ranks;
use espalier_tests::trainer;
use espalier_trainer::data::formats::open;
use espalier_trainer::eval::Points;
use espalier_trainer::eval::cache::Cache;
use espalier_trainer::eval::embedded::Embedded;
use espalier_trainer::eval::embedder::{EmbedOptions, Embedder};
use espalier_trainer::model_file;
use espalier_trainer::ranks::{Collective, Single};
use serde_json::Value;

use crate::processes::{mpirun, program, text};

/// Writes eleven photos in folders by class, one of them broken; returns the folder.
fn write_photos(folder: &Path) -> PathBuf {
    let photos = folder.join("photos");
    for at in 0..11 {
        let class = photos.join(["cat", "barn", "cello"][at as usize % 3]);
        fs::create_dir_all(&class).unwrap();
        let name = format!("{at:02}.jpg");
        match at {
            4 => keep(&class, &name, b"no image"),
            at if at % 2 == 0 => keep(&class, &name, &jpeg(&landscape(60 + 9 * at, 80), 1)),
            at => keep(&class, &name, &jpeg(&noise(70, 60 + 5 * at), 1)),
        };
    }
    photos
}

/// Embeds the photos and some texts as `trainer eval` does.
fn embed(photos: &Path, cache: Option<PathBuf>, ranks: Rc<dyn Collective>) -> (Embedded, Points) {
    let device = Device::flex();
    let model = model_file::open(&tiny(), &device).unwrap();
    let options = EmbedOptions {
        batch_size: 2,
        workers: 1,
        max_broken: 0.2,
        change: None,
        cache: Cache::new(cache),
    };
    let paths = [photos.to_owned()];
    let data = open::benchmark(&paths, None, "test").unwrap().data;
    let embedder = Embedder::new(&model, &device, options, ranks);
    let found = embedder.dataset(data, &paths, None).unwrap();
    let texts = ["a cat", "a barn", "a cat", "music", "a dog in the snow"];
    let texts = embedder.texts(&texts.map(str::to_owned)).unwrap();
    ((*found).clone(), texts)
}

fn largest_difference(a: &Points, b: &Points) -> f32 {
    assert_eq!((a.len(), a.width()), (b.len(), b.width()));
    let pairs = a.data().iter().zip(b.data());
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn any_number_of_ranks_gives_the_embeddings_of_one_process() {
    let dir = tempfile::tempdir().unwrap();
    let photos = write_photos(dir.path());
    let (expected, texts) = embed(&photos, None, Rc::new(Single));
    assert_eq!((expected.points.len(), texts.len()), (10, 5));
    // More ranks than texts, too.
    for world in [2, 3, 7] {
        // Only the last rank has no cache, so that all must compute together.
        let cache = |rank| (rank + 1 < world).then(|| dir.path().join(format!("cache-{rank}")));
        for _ in 0..2 {
            let all = on_ranks(world, |ranks| embed(&photos, cache(ranks.rank()), ranks));
            for (found, found_texts) in all {
                assert_eq!(found.about, expected.about);
                assert!(largest_difference(&found.points, &expected.points) < 1e-6);
                assert!(largest_difference(&found_texts, &texts) < 1e-6);
            }
        }
    }
}

#[test]
fn a_rank_with_other_photos_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let (photos, others) = (dir.path().join("a"), dir.path().join("b"));
    let (photos, others) = (write_photos(&photos), write_photos(&others));
    fs::remove_file(others.join("cat/00.jpg")).unwrap();
    let messages = on_ranks(3, |ranks| {
        let device = Device::flex();
        let model = model_file::open(&tiny(), &device).unwrap();
        let options = EmbedOptions {
            batch_size: 2,
            workers: 1,
            max_broken: 0.2,
            change: None,
            cache: Cache::new(None),
        };
        let paths = [if ranks.rank() == 1 { &others } else { &photos }.clone()];
        let data = open::benchmark(&paths, None, "test").unwrap().data;
        let embedder = Embedder::new(&model, &device, options, ranks);
        embedder
            .dataset(data, &paths, None)
            .unwrap_err()
            .to_string()
    });
    for message in messages {
        assert!(message.ends_with("found others on rank 1"), "{message}");
    }
}

/// Runs the trainer in three processes.
fn in_three_processes(args: &[&str]) -> String {
    let mut command = mpirun();
    command.args(["-n", "3"]).arg(program()).args(args);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn alone(args: &[&str]) -> String {
    let output = trainer(args);
    assert!(output.status.success(), "{}", text(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
#[ignore = "needs MPI: cargo xtask test"]
fn three_processes_evaluate_and_embed_as_one() {
    let dir = tempfile::tempdir().unwrap();
    let photos = write_photos(dir.path());
    let (photos, model) = (photos.to_str().unwrap(), tiny_path());
    let eval = [
        "eval",
        "--checkpoint",
        &model,
        "--task",
        "zero-shot",
        "--data",
        photos,
        "--json",
        "--no-cache",
        "--max-broken",
        "0.2",
    ];
    let record = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(record(&in_three_processes(&eval)), record(&alone(&eval)));

    let out = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let read = |path: &str| Tensors::read(&fs::read(path).unwrap()).unwrap();
    let (one, three) = (out("one.safetensors"), out("three.safetensors"));
    alone(&[
        "embed", "--model", &model, "--images", photos, "--out", &one,
    ]);
    in_three_processes(&[
        "embed", "--model", &model, "--images", photos, "--out", &three,
    ]);
    let (one, three) = (read(&one), read(&three));
    assert_eq!(one.metadata, three.metadata);
    for (name, tensor) in &one.tensors {
        let other = &three.tensors[name];
        assert_eq!(tensor.shape, other.shape);
        let pairs = tensor.data.iter().zip(&other.data);
        assert!(pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max) < 1e-6);
    }
}

#[test]
#[ignore = "needs MPI: cargo xtask test"]
fn an_error_that_all_processes_have_is_reported_once() {
    let mut command = mpirun();
    command.args(["-n", "2"]).arg(program());
    command.args([
        "eval",
        "--checkpoint",
        "/nowhere",
        "--task",
        "zero-shot",
        "--data",
        "/nowhere",
    ]);
    let output = command.output().unwrap();
    let said = text(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(said.matches("error: rank 0: ").count(), 1, "{said}");
    assert!(!said.contains("rank 1: "), "{said}");
}
