//! Several ranks embed and evaluate what one process does.

use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use burn::tensor::Device;
use espalier_tests::calls::{Call, call};
use espalier_tests::models::tiny;
use espalier_tests::photos::{jpeg, keep, landscape, noise};
use espalier_tests::ranks::on_ranks;
use espalier_tests::tensors_of;
use espalier_trainer::data::formats::open;
use espalier_trainer::eval::Points;
use espalier_trainer::eval::cache::Cache;
use espalier_trainer::eval::embedded::Embedded;
use espalier_trainer::eval::embedder::{EmbedOptions, Embedder};
use espalier_trainer::model_file;
use espalier_trainer::ranks::{Collective, Single};
use serde_json::Value;

use crate::processes::{in_processes, text};

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
fn embed(
    photos: &Path,
    cache: Option<PathBuf>,
    ranks: Rc<dyn Collective>,
) -> anyhow::Result<(Embedded, Points)> {
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
    let found = embedder.dataset(data, &paths, None)?;
    let texts = ["a cat", "a barn", "a cat", "music", "a dog in the snow"];
    let texts = embedder.texts(&texts.map(str::to_owned))?;
    Ok(((*found).clone(), texts))
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
    let (expected, texts) = embed(&photos, None, Rc::new(Single)).unwrap();
    assert_eq!((expected.points.len(), texts.len()), (10, 5));
    // More ranks than texts, too.
    for world in [2, 3, 7] {
        // Only the last rank has no cache, so that all must compute together.
        let cache = |rank| (rank + 1 < world).then(|| dir.path().join(format!("cache-{rank}")));
        for _ in 0..2 {
            let all = on_ranks(world, |ranks| {
                embed(&photos, cache(ranks.rank()), ranks).unwrap()
            });
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
        let of_rank = if ranks.rank() == 1 { &others } else { &photos };
        let error = embed(of_rank, None, ranks).err().unwrap();
        error.to_string()
    });
    for message in messages {
        assert!(message.ends_with("found others on rank 1"), "{message}");
    }
}

/// Runs a call in three processes and returns what they print.
fn in_three_processes(call: Call) -> String {
    let output = in_processes(3, call).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
#[ignore = "needs MPI: cargo xtask test"]
fn three_processes_evaluate_and_embed_as_one() {
    let dir = tempfile::tempdir().unwrap();
    let photos = write_photos(dir.path());
    let eval = || {
        call("eval --task zero-shot --json --no-cache --max-broken 0.2")
            .set("--checkpoint", tiny())
            .set("--data", &photos)
    };
    let found: Value = serde_json::from_str(&in_three_processes(eval())).unwrap();
    assert_eq!(found, eval().json());

    let embed = |out: &Path| {
        call("embed")
            .set("--model", tiny())
            .set("--images", &photos)
            .set("--out", out)
    };
    let [one, three] = ["one", "three"].map(|name| dir.path().join(format!("{name}.safetensors")));
    embed(&one).done();
    in_three_processes(embed(&three));
    let [one, three] = [one, three].map(|file| tensors_of(&file));
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
    let eval = call("eval --checkpoint /nowhere --task zero-shot --data /nowhere");
    let output = in_processes(2, eval).output().unwrap();
    let said = text(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(said.matches("error: rank 0: ").count(), 1, "{said}");
    assert!(!said.contains("rank 1: "), "{said}");
}
