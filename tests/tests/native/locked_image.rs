//! Training with a locked image encoder: what is cached, what is trained and what stays frozen.

use std::fs;
use std::path::Path;

use burn::tensor::Device;
use espalier_core::weights::{HostTensor, Tensors};
use espalier_tests::calls::{Call, call};
use espalier_trainer::{classifier_file, model_file};
use serde_json::Value;

/// Returns the call that trains on synthetic data.
fn fit(logs: &Path, name: &str) -> Call {
    call("fit --dataset synthetic --model vit_t8_64 --batch-size 8 --warmup 1 --lr 1e-3")
        .set("--logs", logs)
        .set("--name", name)
        .with("train.log_frequency=1 dataset.synthetic_records=48")
}

fn weights(run: &Path) -> Tensors {
    let file = model_file::weights_file(run).unwrap();
    Tensors::read(&fs::read(file).unwrap()).unwrap()
}

fn losses(logs: &Path, name: &str) -> Vec<Value> {
    let text = fs::read_to_string(logs.join(name).join("metrics.jsonl")).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
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
    let known = losses(&logs, "whole");
    fit(&logs, "whole").set("--resume", third).done();
    let found = losses(&logs, "whole");
    assert_eq!((known.len(), found.len()), (6, 6));
    for (a, b) in known.iter().zip(&found) {
        assert_eq!(a["index"], b["index"]);
        let loss = |line: &Value| line["loss"].as_f64().unwrap();
        assert!(
            (loss(a) - loss(b)).abs() <= 1e-6 * loss(a).abs(),
            "expected {a}, found {b}"
        );
    }

    // Distillation needs a classifier beside the checkpoint.
    let path = classifier_file::classifier_path(&start).unwrap();
    let taxonomy = espalier_trainer::data::formats::synthetic::taxonomy_tsv();
    let labelled = taxonomy.lines().filter(|line| line.ends_with("\t1"));
    let labels: Vec<String> = labelled
        .map(|line| line.split('\t').next().unwrap().to_owned())
        .collect();
    let width = before.tensors["visual_proj.weight"].shape[1];
    let weight = HostTensor {
        shape: vec![labels.len(), width],
        data: (0..labels.len() * width)
            .map(|i| ((i * 37 % 101) as f32 - 50.0) / 200.0)
            .collect(),
    };
    let bias = HostTensor {
        shape: vec![labels.len()],
        data: vec![0.0; labels.len()],
    };
    classifier_file::write(&path, weight, bias, &labels).unwrap();
    let distil = "--method clip --steps 4 loss.distill=1 loss.distill_labels=6";
    let more = format!("{distil} dataset.synthetic_features=4");
    let said = locked("taught", &more);
    assert!(said.contains("samples 4 features per step"), "{said}");
    let lines = losses(&logs, "taught");
    for key in ["distill", "synthetic"] {
        let values: Vec<f64> = lines
            .iter()
            .map(|line| line[key].as_f64().unwrap())
            .collect();
        assert!(
            values.iter().all(|v| v.is_finite() && *v > 0.0),
            "{key} {values:?}"
        );
    }
    let device = Device::flex();
    assert_eq!(
        classifier_file::read(&logs.join("taught"), &device)
            .unwrap()
            .labels,
        labels
    );
}
