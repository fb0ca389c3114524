//! A bundle is evaluated in the space in which its checkpoint was trained.

use std::path::{Path, PathBuf};

use burn::tensor::Device;
use espalier_core::bundle::sha256_hex;
use espalier_core::model::{LiftKind, Preset};
use espalier_core::weights::collect;
use espalier_tests::calls::call;
use espalier_tests::{json_of, taxonomy, tensors_of};
use espalier_trainer::model_file::ModelCard;
use serde_json::{Value, json};

use crate::alone::alone;
use crate::evaluation::support::{Bench, eval, metric, refused};

/// Writes a checkpoint of random weights whose root is this text.
fn checkpoint(bench: &Bench, name: &str, root_text: &str, lift: LiftKind) -> PathBuf {
    let device = Device::flex();
    device.seed(7);
    let config = Preset::VitT8_64.config().with_lift(lift);
    let mut tensors = collect(&config.init(&device)).unwrap();
    let card = ModelCard {
        root_text: root_text.into(),
        ..ModelCard::new(config, "rcme")
    };
    tensors.metadata = card.metadata().unwrap();
    let file = format!("{name}/model.safetensors");
    bench.write(&file, tensors.write(|_, _| None).unwrap());
    bench.path(&file)
}

/// Exports a bundle of the checkpoint, with a taxonomy of two labels and a probe of both.
fn bundle(bench: &Bench, checkpoint: &Path, dtype: &str) -> PathBuf {
    let two = taxonomy("r\tthing\t\t0\na\tred house\tr\t1\nb\ttree\tr\t1\n");
    bench.write("two.tsv", two);
    for (look, label) in (0..).zip(["a", "b"]) {
        bench.image(&format!("probe/{label}/1.jpg"), look);
        bench.image(&format!("probe/{label}/2.jpg"), look + 3);
    }
    let out = bench.path(&format!("bundle-{dtype}"));
    call("export --max-drop 100")
        .set("--checkpoint", checkpoint)
        .set("--out", &out)
        .set("--dtype", dtype)
        .set("--taxonomy", bench.path("two.tsv"))
        .set("--probe", bench.path("probe"))
        .done();
    out
}

/// Writes one image with two boxes in COCO's format.
fn scenes(bench: &Bench) -> PathBuf {
    let index = json!({
        "images": [{"id": 1, "file_name": "1.jpg", "width": 80, "height": 70}],
        "annotations": [
            {"image_id": 1, "category_id": 1, "bbox": [0, 0, 40, 40], "iscrowd": 0},
            {"image_id": 1, "category_id": 2, "bbox": [30, 20, 40, 40], "iscrowd": 0},
        ],
        "categories": [{"id": 1, "name": "dog"}, {"id": 2, "name": "train"}],
    });
    bench.write("scenes/instances_val2017.json", index.to_string());
    bench.image("scenes/1.jpg", 0);
    bench.path("scenes")
}

fn radii(model: &Path, data: &Path) -> [f64; 3] {
    let found = eval(model, "--task norms").set("--data", data).json();
    ["image", "text", "phrase"].map(|kind| metric(&found, &format!("{kind}_radius_mean")))
}

fn largest_gap(a: [f64; 3], b: [f64; 3]) -> f64 {
    let gaps = a.iter().zip(b).map(|(a, b)| (a - b).abs());
    gaps.fold(0.0, f64::max)
}

#[test]
fn radii_of_a_bundle_are_from_the_root_of_its_checkpoint() {
    // Both checkpoints draw the same weights, which another test between them would change.
    let name = "evaluation::bundles::radii_of_a_bundle_are_from_the_root_of_its_checkpoint";
    alone(name, || {
        let bench = Bench::new();
        let data = scenes(&bench);
        let rooted = checkpoint(&bench, "rooted", "Eukarya", LiftKind::Sphere);
        let own = radii(&rooted, &data);
        let full = bundle(&bench, &rooted, "fp32");
        let gap = largest_gap(own, radii(&full, &data));
        assert!(gap < 1e-6, "{gap}");
        // Rounding moves the embeddings a little; another root changes all radii by much more.
        let other = checkpoint(&bench, "other", "", LiftKind::Sphere);
        let away = largest_gap(own, radii(&other, &data));
        let rounded = bundle(&bench, &rooted, "q8");
        let gap = largest_gap(own, radii(&rounded, &data));
        assert!(gap < 0.02 && away > 5.0 * gap, "{gap} {away}");
        without_its_geometry_it_is_refused(&full, &data);
    });
}

fn without_its_geometry_it_is_refused(bundle: &Path, data: &Path) {
    let file = bundle.join("manifest.json");
    let whole = json_of(&file);
    let rootless = json!({"kind": "sphere", "root": []});
    let lorentz = json!({"kind": "lorentz", "curvature": 1.0});
    for (geometry, words) in [
        (rootless, "a `root` of 128 finite numbers"),
        (json!({"kind": "sphere"}), "root"),
        (lorentz, "the space of the model"),
        (Value::Null, "geometry"),
    ] {
        let mut manifest = whole.clone();
        match geometry {
            Value::Null => drop(manifest.as_object_mut().unwrap().remove("geometry")),
            other => manifest["geometry"] = other,
        }
        std::fs::write(&file, manifest.to_string()).unwrap();
        let norms = eval(bundle, "--task norms").set("--data", data);
        refused(norms, &["manifest.json", words]);
    }
}

#[test]
fn a_bundle_is_judged_with_the_labels_that_it_stores() {
    let bench = Bench::new();
    let lift = LiftKind::Lorentz;
    let folder = bundle(&bench, &checkpoint(&bench, "rooted", "", lift), "fp32");
    let judged = |more: &str| {
        let found = eval(&folder, "--task zero-shot")
            .set("--data", bench.path("probe"))
            .set("--taxonomy", bench.path("two.tsv"))
            .with(more)
            .json();
        let prompts = found["prompts"].as_str().unwrap().to_owned();
        (prompts, metric(&found, "acc1"))
    };
    let (prompts, right) = judged("");
    assert_eq!(prompts, "stored");
    let simple = ("simple-1".to_owned(), right);
    assert_eq!(judged("--prompts simple-1"), simple);

    // With the two labels exchanged in the bundle, every answer is the other one.
    let file = folder.join("taxonomy.safetensors");
    let mut tensors = tensors_of(&file);
    let points = tensors.tensors.get_mut("embeddings").unwrap();
    let width = points.data.len() / 2;
    points.data.rotate_left(width);
    let bytes = tensors.write(|_, _| None).unwrap();
    std::fs::write(&file, &bytes).unwrap();
    let manifest = folder.join("manifest.json");
    let mut listed = json_of(&manifest);
    for entry in listed["files"].as_array_mut().unwrap() {
        if entry["path"] == "taxonomy.safetensors" {
            entry["sha256"] = sha256_hex(&bytes).into();
            entry["bytes"] = bytes.len().into();
        }
    }
    std::fs::write(&manifest, listed.to_string()).unwrap();
    assert_eq!(judged(""), ("stored".to_owned(), 1.0 - right));
    assert_eq!(judged("--prompts simple-1"), simple);
}
