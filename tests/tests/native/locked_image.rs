//! Training with a locked image encoder: what is cached, what is trained and what stays frozen.

use std::path::Path;

use burn::tensor::Device;
use espalier_core::weights::{HostTensor, Tensors};
use espalier_tests::calls::{Call, call, metrics};
use espalier_tests::tensors_of;
use espalier_trainer::{classifier_file, model_file};

/// Returns the call that trains on synthetic data.
fn fit(logs: &Path, name: &str) -> Call {
    call("fit --dataset synthetic --model vit_t8_64 --batch-size 8 --warmup 1 --lr 1e-3")
        .set("--logs", logs)
        .set("--name", name)
        .with("train.log_frequency=1 dataset.synthetic_records=48")
}

fn weights(run: &Path) -> Tensors {
    tensors_of(&model_file::weights_file(run).unwrap())
}

#[test]
fn a_locked_encoder_stays_its_projection_learns_and_a_teacher_teaches() {
    let dir = tempfile::tempdir().unwrap();
    let logs = dir.path().join("logs");
    fit(&logs, "start").with("--method clip --steps 1").done();
    let start = logs.join("start");
    let locked = |name: &str, more: &str| {
        fit(&logs, name)
            .with("--lock-image")
            .set("--feature-cache", dir.path().join("cache"))
            .set("--init", &start)
            .with(more)
            .done()
            .said
    };

    let views = "--method hycoclip --steps 6 --feature-views 2";
    let said = locked("first", views);
    assert!(said.contains("0 read from the cache"), "{said}");
    assert!(said.contains("steps per second"), "{said}");
    let (before, after) = (weights(&start), weights(&logs.join("first")));
    for (name, tensor) in &before.tensors {
        let same = after.tensors.get(name) == Some(tensor);
        if name.starts_with("visual.") || name.starts_with("pixel_") {
            assert!(same, "{name} is locked but has changed");
        }
        if name == "visual_proj.weight" || name == "textual_proj.weight" {
            assert!(!same, "{name} is trained but has not changed");
        }
    }

    // The same images again: all features are cached, and a resumed run takes the same steps.
    let more = format!("{views} --save-frequency 3 train.deterministic=true");
    let said = locked("whole", &more);
    assert!(said.contains(": 0 computed, "), "{said}");
    let third = logs.join("whole/checkpoints/checkpoint_00000003");
    let known = metrics(&logs.join("whole"));
    fit(&logs, "whole").set("--resume", third).done();
    let found = metrics(&logs.join("whole"));
    assert_eq!((known.len(), found.len()), (6, 6));
    for (a, b) in known.iter().zip(&found) {
        assert_eq!(a["index"], b["index"]);
        let [known, found] = [a, b].map(|line| line["loss"].as_f64().unwrap());
        let off = (known - found).abs();
        assert!(off <= 1e-6 * known.abs(), "expected {a}, found {b}");
    }

    // Distillation needs a classifier beside the checkpoint.
    let path = classifier_file::classifier_path(&start).unwrap();
    let taxonomy = espalier_trainer::data::formats::synthetic::taxonomy_tsv();
    let labelled = taxonomy.lines().filter(|line| line.ends_with("\t1"));
    let ids = labelled.map(|line| line.split('\t').next().unwrap());
    let labels: Vec<String> = ids.map(str::to_owned).collect();
    let width = before.tensors["visual_proj.weight"].shape[1];
    let numbers = (0..labels.len() * width).map(|i| ((i * 37 % 101) as f32 - 50.0) / 200.0);
    let weight = HostTensor {
        shape: vec![labels.len(), width],
        data: numbers.collect(),
    };
    let bias = HostTensor {
        shape: vec![labels.len()],
        data: vec![0.0; labels.len()],
    };
    classifier_file::write(&path, (weight, bias, labels.clone())).unwrap();
    let distil = "--method clip --steps 4 loss.distill=1 loss.distill_labels=6";
    let more = format!("{distil} dataset.synthetic_features=4");
    let said = locked("taught", &more);
    assert!(said.contains("samples 4 features per step"), "{said}");
    let taught = logs.join("taught");
    for line in metrics(&taught) {
        for key in ["distill", "synthetic"] {
            let value = line[key].as_f64().unwrap();
            assert!(value.is_finite() && value > 0.0, "{key}: {line}");
        }
    }
    let read = classifier_file::read(&taught, &Device::flex()).unwrap();
    assert_eq!(read.labels, labels);
}
