//! From training to a ladder on synthetic data; killing the process midway loses nothing.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use espalier_core::caption::CaptionResult;
use espalier_tests::calls::{Call, call, metrics};
use espalier_tests::wait_until;
use espalier_trainer::{averaged, model_file};
use serde_json::{Value, json};

/// Returns the call that trains on synthetic data.
fn fit(logs: &Path, name: &str, more: &str) -> Call {
    call("fit --dataset synthetic --model vit_t8_64 --batch-size 8 --warmup 2 --lr 1e-3")
        .set("--logs", logs)
        .set("--name", name)
        .with("--save-frequency 4 train.log_frequency=1 dataset.synthetic_records=256")
        .with(more)
}

#[test]
fn a_run_becomes_a_bundle_whose_ladder_is_that_of_the_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    let logs = dir.path().join("logs");
    fit(&logs, "a", "--method hycoclip --steps 24").done();
    let run_folder = logs.join("a");
    let lines = metrics(&run_folder);
    assert_eq!(lines.len(), 24);
    let mean = |part: &[Value]| {
        let values = part.iter().map(|l| l["contrastive"].as_f64().unwrap());
        values.sum::<f64>() / part.len() as f64
    };
    let (first, last) = (mean(&lines[..6]), mean(&lines[18..]));
    assert!(last < first, "expected less than {first}, found {last}");
    for key in ["entail", "lr", "curv", "logit_scale", "grad_norm"] {
        assert!(lines[0][key].is_number(), "{key} is not logged");
    }
    assert!(lines[0]["images_per_s"].is_number() && lines[0]["index"].is_number());

    let bundle = dir.path().join("bundle");
    let export = |out: &Path, more: &str| {
        call("export --probe-size 64")
            .set("--checkpoint", &run_folder)
            .set("--out", out)
            .with(more)
    };
    export(&bundle, "--dtype q8 --max-drop 100").done();
    // An existing bundle is not overwritten by default.
    export(&bundle, "--max-drop 100").refused(&[]);
    // No gain can exceed 100 points, so no bundle passes this gate.
    let other = dir.path().join("other");
    export(&other, "--max-drop=-101").ends_with(3, &[]);
    assert!(!other.exists(), "a refused bundle was written");

    let photo = dir.path().join("photo.png");
    let image = espalier_trainer::export::selftest::image();
    image.save(&photo).unwrap();
    let caption = |model: &Path| call("caption --json").set("--model", model).arg(&photo);
    for model in [&bundle, &run_folder] {
        let found: CaptionResult = serde_json::from_value(caption(model).json()).unwrap();
        let (rungs, path) = (&found.ladder, &found.taxonomy.path);
        assert!(!rungs.is_empty());
        assert!(rungs.is_sorted_by_key(|rung| rung.radius), "{rungs:?}");
        assert!(path.is_sorted_by(|a, b| a.p >= b.p - 1e-6), "{path:?}");
    }
    // One changed byte of the weights is an error that names the file.
    let weights = bundle.join("image.safetensors");
    let mut bytes = fs::read(&weights).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&weights, bytes).unwrap();
    let told = ["image.safetensors: expected SHA-256"];
    caption(&bundle).refused(&told);
}

#[test]
fn a_run_killed_in_the_middle_continues_on_the_next_unseen_sample() {
    let dir = tempfile::tempdir().unwrap();
    let logs = dir.path().join("logs");
    let more = "--method clip --steps 14";
    fit(&logs, "whole", more).done();

    let mut command = fit(&logs, "killed", more).command();
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    let note = logs.join("killed/last_checkpoint.txt");
    wait_until("no checkpoint was written", || note.exists());
    child.kill().unwrap();
    child.wait().unwrap();
    // A kill during a write leaves files, which do not matter and are removed.
    let checkpoints = logs.join("killed/checkpoints");
    for name in [".checkpoint_00000012.tmp", ".checkpoint_00000001.old.tmp"] {
        fs::create_dir_all(checkpoints.join(name)).unwrap();
        fs::write(checkpoints.join(name).join("optim.bpk"), "half").unwrap();
    }
    fs::create_dir_all(checkpoints.join("checkpoint_00000013")).unwrap();

    fit(&logs, "killed", more).with("--resume latest").done();
    let left = espalier_fixtures::listing::names(&checkpoints);
    assert!(!left.iter().any(|name| name.ends_with(".tmp")), "{left:?}");
    let [whole, killed] = ["whole", "killed"].map(|run| metrics(&logs.join(run)));
    assert_eq!(killed.len(), 14);
    for (a, b) in whole.iter().zip(&killed) {
        for key in ["step", "epoch", "index", "samples", "lr"] {
            assert_eq!(a[key], b[key], "{key}");
        }
        let [known, found] = [a, b].map(|line| line["loss"].as_f64().unwrap());
        let off = (known - found).abs();
        assert!(off <= 1e-3 * known.abs(), "found {found}, expected {known}");
    }
    // Within an epoch every log line covers records that no earlier line covers.
    for pair in killed.windows(2).filter(|w| w[0]["epoch"] == w[1]["epoch"]) {
        assert!(pair[0]["index"].as_u64() < pair[1]["index"].as_u64());
    }
}

#[test]
fn a_run_that_exists_is_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("a")).unwrap();
    fs::write(dir.path().join("a/config.toml"), "").unwrap();
    fit(dir.path(), "a", "--steps 1").refused(&["--resume latest"]);
}

#[test]
fn an_epoch_of_some_samples_goes_on_where_the_one_before_ended() {
    let dir = tempfile::tempdir().unwrap();
    let logs = dir.path().join("logs");
    let train = |name: &str, more: &str| {
        let fixed = "--method clip --train-num-samples 50 --deterministic optim.schedule=constant";
        fit(&logs, name, fixed).with(more).done();
    };
    train("whole", "--epochs 3");
    train("resumed", "--epochs 1");
    // 50 samples are six whole steps of 8.
    assert_eq!(metrics(&logs.join("resumed")).len(), 6);
    train("resumed", "--epochs 3 --resume latest");
    let [whole, resumed] = ["whole", "resumed"].map(|run| metrics(&logs.join(run)));
    let position = |line: &Value| json!([line["epoch"], line["index"]]);
    let known: Vec<Value> = (1..=18).map(|step| json!([0, 8 * step])).collect();
    assert_eq!(whole.iter().map(position).collect::<Vec<_>>(), known);
    for (a, b) in whole.iter().zip(&resumed) {
        for key in ["step", "index", "samples", "lr", "loss"] {
            assert_eq!(a[key], b[key], "{key} of step {}", a["step"]);
        }
    }
    assert_eq!(resumed.len(), 18);
    let config = fs::read_to_string(logs.join("resumed/config.toml")).unwrap();
    assert!(config.contains("num_samples = 50"), "{config}");
    let log = fs::read_to_string(logs.join("whole/out.log")).unwrap();
    let planned = "18 steps of 8 samples, 144 samples, 2.88 epochs of 50 samples";
    assert!(log.contains(planned), "{log}");
}

#[test]
fn averages_of_weights_are_those_of_their_definition() {
    let dir = tempfile::tempdir().unwrap();
    let more = "--steps 2 --ema 0.9 train.save_frequency=1 train.keep=3";
    fit(dir.path(), "a", more).done();
    let folder = dir.path().join("a");
    let read = |step: u64, file: &str| {
        let checkpoint = format!("checkpoints/checkpoint_{step:08}");
        let (_, _, _, tensors) = model_file::read(&folder.join(checkpoint).join(file)).unwrap();
        tensors.tensors
    };
    let (first, second) = (read(1, "ema.safetensors"), read(2, "ema.safetensors"));
    let (before, after) = (read(1, "model.safetensors"), read(2, "model.safetensors"));
    // The decay after two steps is 3/12: training has just begun.
    let (_, _, _, mean) = averaged::read(&folder, 2).unwrap();
    let mut moved = 0;
    for (name, average) in &second {
        for (at, value) in average.data.iter().enumerate() {
            let [first, before, after] = [&first, &before, &after].map(|all| all[name].data[at]);
            let mean = mean.tensors[name].data[at];
            for (found, expected) in [
                (*value, first + 0.75 * (after - first)),
                (mean, (before + after) / 2.0),
            ] {
                let off = (found - expected).abs();
                assert!(off <= 1e-6, "{name}: {found}, {expected}");
            }
            moved += usize::from(first != after);
        }
    }
    assert!(moved > 1000);
    // A run is read as its average; without one, as its weights.
    let file = model_file::weights_file(&folder).unwrap();
    assert!(file.ends_with("checkpoint_00000002/ema.safetensors"));
    let error = averaged::read(&folder, 4).unwrap_err().to_string();
    for words in ["--average 4", "found 2"] {
        assert!(error.contains(words), "{error}");
    }
}
