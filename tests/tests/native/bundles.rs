//! Sharded bundles: an image encoder that arrives file by file, and captions of which the general
//! ones come first.

use std::fs;
use std::path::Path;

use burn::tensor::Device;
use espalier_core::bundle::{BundleFiles, Manifest, Part, sha256_hex};
use espalier_core::caption::{BundleLoader, Captioner, Engine, Request};
use espalier_core::model::Arithmetic;
use espalier_fixtures::listing::names;
use espalier_tests::browser::sample;
use espalier_tests::models::{captioner_with, manifest, shipped, tiny};
use espalier_tests::photos::{keep, landscape, noise};
use espalier_tests::shards::in_shards;
use espalier_tests::texts;
use espalier_trainer::config::TrainConfig;
use image::{Rgb, RgbImage};
use pollster::block_on;
use tempfile::TempDir;

/// Writes the bundle `tiny` in shards; returns its folder and its manifest.
fn pieces() -> (TempDir, Vec<u8>, Manifest) {
    let folder = tempfile::tempdir().unwrap();
    in_shards(&tiny(), folder.path());
    let bytes = fs::read(folder.path().join("manifest.json")).unwrap();
    let manifest = manifest(folder.path());
    (folder, bytes, manifest)
}

fn whole(folder: &Path) -> Captioner {
    captioner_with(folder, &Engine::Kernels, Arithmetic::Float32)
}

fn embedding(captioner: &Captioner, photo: &RgbImage) -> Vec<f32> {
    let embedded = block_on(captioner.embed(std::slice::from_ref(photo)));
    embedded.unwrap().swap_remove(0)
}

fn largest_difference(a: &[f32], b: &[f32]) -> f32 {
    let differences = a.iter().zip(b).map(|(a, b)| (a - b).abs());
    differences.fold(0.0, f32::max)
}

/// Reads a photo with both engines and asserts that ladder, path and stop are the same, and that no probability
/// differs by more than `most`.
fn same_reading([backend, kernels]: [&Captioner; 2], photo: &Path, most: f64) {
    let bytes = fs::read(photo).unwrap();
    let read = |captioner: &Captioner| {
        let request = captioner.read(&bytes, Request::default(), || 0.0);
        block_on(request).unwrap().result(captioner, "")
    };
    let (expected, found) = (read(backend), read(kernels));
    let photo = photo.display();
    assert_eq!(texts(&found.ladder), texts(&expected.ladder), "{photo}");
    assert_eq!(found.taxonomy.stop, expected.taxonomy.stop, "{photo}");
    for (found, expected) in found.taxonomy.path.iter().zip(&expected.taxonomy.path) {
        assert_eq!(found.id, expected.id, "{photo}");
        // The calibration multiplies differences of scores, and with them what rounding leaves.
        let worst = (found.p - expected.p).abs();
        assert!(worst < most, "{photo}, {}: {worst}", found.id);
    }
}

#[test]
fn the_kernels_embed_and_read_photos_as_the_backend_does() {
    let backend = Engine::Device(Device::flex());
    let backend = captioner_with(&shipped(), &backend, Arithmetic::Float32);
    let kernels = whole(&shipped());
    let integers = captioner_with(&shipped(), &Engine::Kernels, Arithmetic::Int8);
    for photo in [landscape(640, 480), noise(300, 200)] {
        let expected = embedding(&backend, &photo);
        let length: f32 = expected.iter().map(|v| v * v).sum::<f32>().sqrt();
        for (kernels, share) in [(&kernels, 1e-5), (&integers, 1e-2)] {
            let worst = largest_difference(&embedding(kernels, &photo), &expected);
            assert!(worst < share * length, "{worst} of {length}");
        }
    }
    let samples = sample("cat").parent().unwrap().to_owned();
    let mut names = names(&samples);
    names.retain(|name| name.ends_with(".jpg"));
    assert!(names.len() >= 8, "{names:?}");
    for path in names.iter().map(|name| samples.join(name)) {
        same_reading([&backend, &kernels], &path, 3e-3);
        same_reading([&backend, &integers], &path, 0.1);
    }
}

#[test]
fn pieces_in_any_order_give_the_answers_of_the_whole() {
    let (folder, bytes, manifest) = pieces();
    let mut bundle_loader = BundleLoader::new(&bytes, &Engine::Kernels).unwrap();
    let first: Vec<_> = manifest.first_files_of(&Part::OF_AN_ANSWER).collect();
    assert!(first.iter().filter(|f| f.part == Part::Image).count() == 2);
    for file in first.into_iter().rev() {
        let content = fs::read(folder.path().join(&file.path)).unwrap();
        bundle_loader = bundle_loader.with(file.check(content).unwrap()).unwrap();
    }
    let mut pieced = bundle_loader.finish().unwrap();
    let at_once = whole(&tiny());
    let photo = landscape(200, 150);
    let point = embedding(&pieced, &photo);
    let known = embedding(&at_once, &photo);
    let off = largest_difference(&point, &known);
    assert!(off < 1e-6, "{off}");

    // The general captions give an answer alone; with the finer ones it is the whole answer.
    let general = pieced.rank(&point).ladder;
    assert!(general.len() >= 3, "{general:?}");
    let mut later = BundleFiles::default();
    for file in manifest.later_files_of(&Part::OF_AN_ANSWER) {
        let content = fs::read(folder.path().join(&file.path)).unwrap();
        let added = later.insert_checked(&manifest, &file.path, content);
        added.unwrap();
    }
    pieced.grow(&manifest, 1, &later).unwrap();
    let (all, expected) = (pieced.rank(&point).ladder, at_once.rank(&point).ladder);
    let at_once = whole(folder.path()).rank(&point).ladder;
    for found in [&all, &at_once] {
        assert_eq!(texts(found), texts(&expected));
    }
    assert!(all.len() > general.len(), "{all:?}");
}

#[test]
fn both_models_are_whole_and_pass_their_self_test() {
    for bundle in [tiny(), shipped()] {
        let (model, manifest) = (bundle.display(), manifest(&bundle));
        let needed = Part::OF_AN_ANSWER.into_iter().chain([Part::Text]);
        // A bundle need not have detectors.
        for part in needed.filter(|part| *part != Part::Statements) {
            assert!(manifest.files_of(&[part]).count() > 0, "{model}: {part:?}");
        }
        for file in &manifest.files {
            let checked = file.check(fs::read(bundle.join(&file.path)).unwrap());
            checked.unwrap_or_else(|e| panic!("{model}: {e}"));
        }
        let cosine = block_on(whole(&bundle).self_test()).unwrap();
        assert!(cosine > 0.99, "{model}: {cosine}");
        let has_card = bundle.join("README.md").is_file();
        assert!(has_card, "{model} has no model card");
    }
}

#[test]
fn configurations_of_earlier_versions_have_the_same_values() {
    let folder = tempfile::tempdir().unwrap();
    let open = |bundle: &Path| {
        let run = &manifest(bundle).provenance["run"];
        let run = run.as_str().unwrap().as_bytes();
        let path = keep(folder.path(), "config.toml", run);
        let config = TrainConfig::resolve(Some(&path), Default::default(), &[]);
        config.unwrap().loss
    };
    // Options of methods stand in `[loss]` itself, and outliers have another name.
    let loss = open(&tiny());
    assert_eq!((loss.labels, loss.outliers, loss.order), (2.0, 0.4, 0.0));
    let cones = (loss.hycoclip.entail, loss.hycoclip.eta_intra);
    assert_eq!(cones, (0.2, 1.2));
    assert_eq!(loss.rcme.margin, std::f64::consts::FRAC_PI_2);
    let loss = open(&shipped());
    assert_eq!((loss.anchor, loss.generality), (30.0, 15.0));
    assert_eq!(loss.re.pull_back, 10.0);
}

#[test]
fn of_noise_and_plain_colour_nothing_is_said_but_what_is_true_of_most_labels() {
    let plain = RgbImage::from_pixel(200, 300, Rgb([120, 140, 90]));
    let stripes = RgbImage::from_fn(256, 256, |x, _| {
        Rgb([if x / 8 % 2 == 0 { 230 } else { 40 }; 3])
    });
    let photos = [noise(800, 600), noise(64, 64), plain, stripes];
    for bundle in [tiny(), shipped()] {
        let captioner = whole(&bundle);
        for photo in &photos {
            let point = embedding(&captioner, photo);
            let caption = captioner.rank(&point);
            let told = caption.shows.iter().find(|part| part.p >= 0.5);
            assert!(told.is_none(), "{told:?}");
            let taxonomy = caption.taxonomy;
            let known = captioner.classifier().taxonomy();
            let stop = known.find(&taxonomy.stop).unwrap();
            let model = bundle.display();
            let (below, all) = (known.labelled_below(stop).len(), known.labelled().len());
            assert!(2 * below > all, "{model}: {:?}", taxonomy.path);
        }
    }
}

#[test]
fn a_piece_that_is_missing_or_damaged_or_strange_is_named() {
    let (folder, bytes, manifest) = pieces();
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    let open = |without: &str| {
        let mut bundle_loader = BundleLoader::new(&bytes, &Engine::Kernels).unwrap();
        let files = manifest.first_files_of(&Part::OF_AN_ANSWER);
        for file in files.filter(|f| f.path != without) {
            let checked = file.check(read(&file.path)).unwrap();
            bundle_loader = bundle_loader.with(checked).unwrap();
        }
        bundle_loader
    };
    for missing in ["image-1.safetensors", "image.safetensors", "captions.json"] {
        let error = open(missing).finish().unwrap_err().to_string();
        assert!(error.contains(missing), "{error}");
    }
    let mut damaged = read("image-1.safetensors");
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    let listed = manifest.file("image-1.safetensors").unwrap();
    let error = listed.check(damaged).unwrap_err().to_string();
    for words in ["image-1.safetensors", "SHA-256"] {
        assert!(error.contains(words), "{error}");
    }
    // An intact file of another bundle.
    let mut other = listed.clone();
    other.bytes = 0;
    other.sha256 = sha256_hex(&[]);
    for path in ["image-1.safetensors", "image-2.safetensors"] {
        other.path = path.to_owned();
        let strange = other.check(Vec::new()).unwrap();
        let error = open(path).with(strange).unwrap_err().to_string();
        assert!(error.contains(path), "{error}");
    }
}

#[test]
fn an_older_reader_that_knows_no_shards_still_reads_the_manifest() {
    let (_folder, bytes, manifest) = pieces();
    // An older reader ignores unknown fields; a missing shard number means 0.
    let text = String::from_utf8(bytes).unwrap();
    assert_eq!(text.matches("\"shard\":1").count(), 2);
    let has_zero = text.contains("\"shard\":0");
    assert!(!has_zero, "a shard number of 0 is written");
    let parts = Part::OF_AN_ANSWER;
    let later = manifest.later_files_of(&parts).into_iter();
    let later: u64 = later.map(|f| f.bytes).sum();
    let first = manifest.first_bytes_of(&parts);
    assert_eq!(first + later, manifest.bytes_of(&parts));
}
