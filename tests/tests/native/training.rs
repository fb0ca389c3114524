//! From training to a ladder on synthetic data; killing the process midway loses nothing.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use espalier_tests::trainer;
use espalier_trainer::{averaged, model_file};
use serde_json::Value;

/// Runs a command, which must end with this exit code; returns what it says. The seed of the weights
/// and the cache of object storage are global to a process, so a run in this one and other tests would
/// disturb each other.
fn ends_with(code: i32, args: &[&str]) -> String {
    let out = trainer(args);
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(code), "{args:?}: {said}");
    said
}

fn run(args: &[&str]) {
    let _ = ends_with(0, args);
}

fn fit<'a>(logs: &'a str, name: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let base = [
        "fit",
        "--dataset",
        "synthetic",
        "--model",
        "vit_t8_64",
        "--batch-size",
        "8",
        "--warmup",
        "2",
        "--lr",
        "1e-3",
        "--save-frequency",
        "4",
        "--logs",
        logs,
        "--name",
        name,
    ];
    [&base, more].concat()
}

const TAIL: [&str; 2] = ["train.log_frequency=1", "dataset.synthetic_records=256"];

fn metrics(logs: &Path, name: &str) -> Vec<Value> {
    let text = fs::read_to_string(logs.join(name).join("metrics.jsonl")).unwrap();
    text.lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect()
}

#[test]
fn a_run_becomes_a_bundle_whose_ladder_is_that_of_the_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    let logs = dir.path().join("logs");
    let logs_arg = logs.to_str().unwrap();
    let more = [["--method", "hycoclip", "--steps", "24"].as_slice(), &TAIL].concat();
    run(&fit(logs_arg, "a", &more));
    let lines = metrics(&logs, "a");
    assert_eq!(lines.len(), 24);
    let mean = |part: &[Value]| {
        part.iter()
            .map(|l| l["contrastive"].as_f64().unwrap())
            .sum::<f64>()
            / part.len() as f64
    };
    assert!(
        mean(&lines[18..]) < mean(&lines[..6]),
        "the loss did not fall"
    );
    for key in [
        "entail",
        "lr",
        "curv",
        "logit_scale",
        "grad_norm",
        "images_per_s",
        "index",
    ] {
        assert!(lines[0][key].is_number(), "{key} is not logged");
    }

    let run_folder = logs.join("a");
    let bundle = dir.path().join("bundle");
    let export = |out: &Path, more: &[&str], code: i32| {
        let base = [
            "export",
            "--checkpoint",
            run_folder.to_str().unwrap(),
            "--out",
            out.to_str().unwrap(),
            "--probe-size",
            "64",
        ];
        ends_with(code, &[&base, more].concat());
    };
    export(&bundle, &["--dtype", "q8", "--max-drop", "100"], 0);
    // An existing bundle is not overwritten by default.
    export(&bundle, &["--max-drop", "100"], 2);
    // No gain can exceed 100 points, so no bundle passes this gate.
    export(&dir.path().join("other"), &["--max-drop=-101"], 3);
    assert!(
        !dir.path().join("other").exists(),
        "a refused bundle was written"
    );

    let photo = dir.path().join("photo.png");
    espalier_trainer::export::selftest::image()
        .save(&photo)
        .unwrap();
    let ladder = |model: &Path| -> Value {
        let out = trainer(&[
            "caption",
            "--model",
            model.to_str().unwrap(),
            photo.to_str().unwrap(),
            "--json",
        ]);
        assert!(
            out.status.success(),
            "{}",
            String::from_utf8_lossy(&out.stderr)
        );
        serde_json::from_slice(&out.stdout).unwrap()
    };
    let (quantised, full) = (ladder(&bundle), ladder(&run_folder));
    let rungs = |v: &Value| v["ladder"].as_array().unwrap().clone();
    assert!(!rungs(&quantised).is_empty());
    for found in [&quantised, &full] {
        let radii: Vec<f64> = rungs(found)
            .iter()
            .map(|r| r["radius"].as_f64().unwrap())
            .collect();
        assert!(radii.windows(2).all(|w| w[0] <= w[1]), "{radii:?}");
        let p: Vec<f64> = found["taxonomy"]["path"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| s["p"].as_f64().unwrap())
            .collect();
        assert!(p.windows(2).all(|w| w[0] >= w[1] - 1e-6), "{p:?}");
    }
    // One changed byte of the weights is an error that names the file.
    let weights = bundle.join("image.safetensors");
    let mut bytes = fs::read(&weights).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&weights, bytes).unwrap();
    let model = bundle.to_str().unwrap();
    let out = trainer(&["caption", "--model", model, photo.to_str().unwrap()]);
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&out.stderr).contains("image.safetensors: expected SHA-256"));
}

#[test]
fn a_run_killed_in_the_middle_continues_on_the_next_unseen_sample() {
    let dir = tempfile::tempdir().unwrap();
    let logs = dir.path().join("logs");
    let logs_arg = logs.to_str().unwrap();
    let more = [["--method", "clip", "--steps", "14"].as_slice(), &TAIL].concat();
    run(&fit(logs_arg, "whole", &more));

    let mut child = espalier_tests::trainer_command()
        .args(fit(logs_arg, "killed", &more))
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let note = logs.join("killed/last_checkpoint.txt");
    let begun = Instant::now();
    while !note.exists() {
        assert!(
            begun.elapsed() < Duration::from_secs(300),
            "no checkpoint was written"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // What a kill during a write leaves behind must not matter.
    fs::create_dir_all(logs.join("killed/checkpoints/.checkpoint_00000012.tmp")).unwrap();
    fs::create_dir_all(logs.join("killed/checkpoints/checkpoint_00000013")).unwrap();

    let resumed = [["--resume", "latest"].as_slice(), &more].concat();
    run(&fit(logs_arg, "killed", &resumed));
    let (whole, killed) = (metrics(&logs, "whole"), metrics(&logs, "killed"));
    assert_eq!(killed.len(), 14);
    for (a, b) in whole.iter().zip(&killed) {
        for key in ["step", "epoch", "index", "samples", "lr"] {
            assert_eq!(a[key], b[key], "{key}");
        }
        let loss = |v: &Value| v["loss"].as_f64().unwrap();
        assert!(
            (loss(a) - loss(b)).abs() <= 1e-3 * loss(a).abs(),
            "found {}, expected {}",
            loss(b),
            loss(a)
        );
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
    let logs = dir.path().to_str().unwrap();
    let said = ends_with(2, &fit(logs, "a", &["--steps", "1"]));
    assert!(said.contains("--resume latest"), "{said}");
}

#[test]
fn an_epoch_of_some_samples_goes_on_where_the_one_before_ended() {
    let dir = tempfile::tempdir().unwrap();
    let logs = dir.path().join("logs");
    let logs_arg = logs.to_str().unwrap();
    let train = |name: &str, epochs: &str, more: &[&str]| {
        let flags = [
            "--method",
            "clip",
            "--epochs",
            epochs,
            "--train-num-samples",
            "50",
        ];
        let pairs = ["--deterministic", "optim.schedule=constant"];
        let more = [flags.as_slice(), more, &pairs, &TAIL].concat();
        run(&fit(logs_arg, name, &more));
    };
    train("whole", "3", &[]);
    train("resumed", "1", &[]);
    // 50 samples are six whole steps of 8.
    assert_eq!(metrics(&logs, "resumed").len(), 6);
    train("resumed", "3", &["--resume", "latest"]);
    let (whole, resumed) = (metrics(&logs, "whole"), metrics(&logs, "resumed"));
    let positions: Vec<_> = whole
        .iter()
        .map(|l| (l["epoch"].as_u64(), l["index"].as_u64()))
        .collect();
    let known: Vec<_> = (1..=18).map(|step| (Some(0), Some(8 * step))).collect();
    assert_eq!(positions, known);
    for (a, b) in whole.iter().zip(&resumed) {
        for key in ["step", "index", "samples", "lr", "loss"] {
            assert_eq!(a[key], b[key], "{key} of step {}", a["step"]);
        }
    }
    assert_eq!(resumed.len(), 18);
    let config = fs::read_to_string(logs.join("resumed/config.toml")).unwrap();
    assert!(config.contains("num_samples = 50"), "{config}");
    let log = fs::read_to_string(logs.join("whole/out.log")).unwrap();
    assert!(
        log.contains("18 steps of 8 samples, 144 samples, 2.88 epochs of 50 samples"),
        "{log}"
    );
}

#[test]
fn averages_of_weights_are_those_of_their_definition() {
    let dir = tempfile::tempdir().unwrap();
    let logs = dir.path().to_str().unwrap();
    let more =
        "--steps 2 --ema 0.9 dataset.synthetic_records=64 train.save_frequency=1 train.keep=3";
    let more: Vec<&str> = more.split(' ').collect();
    run(&fit(logs, "a", &more));
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
            let expected = first + 0.75 * (after - first);
            assert!(
                (value - expected).abs() <= 1e-6,
                "{name}: {value}, {expected}"
            );
            let expected = (before + after) / 2.0;
            let value = mean.tensors[name].data[at];
            assert!(
                (value - expected).abs() <= 1e-6,
                "{name}: {value}, {expected}"
            );
            moved += usize::from(first != after);
        }
    }
    assert!(moved > 1000);
    // A run is read as its average; without one, as its weights.
    let file = model_file::weights_file(&folder).unwrap();
    assert!(file.ends_with("checkpoint_00000002/ema.safetensors"));
    let error = averaged::read(&folder, 4).unwrap_err().to_string();
    assert!(
        error.contains("--average 4") && error.contains("found 2"),
        "{error}"
    );
}

#[test]
fn the_metrics_of_a_run_are_drawn() {
    let dir = tempfile::tempdir().unwrap();
    let logs = dir.path().to_str().unwrap();
    run(&fit(
        logs,
        "a",
        &["--steps", "3", "--report-to", "jsonl", TAIL[0], TAIL[1]],
    ));
    let (folder, out) = (dir.path().join("a"), dir.path().join("run.svg"));
    assert!(!folder.join("tensorboard").exists());
    let paths = [&folder, &out].map(|path| path.to_str().unwrap().to_owned());
    run(&["plot", "run", "--run", &paths[0], "--out", &paths[1]]);
    let figure = std::fs::read_to_string(&out).unwrap();
    for name in ["loss", "grad norm", "lr", "images per s"] {
        assert!(figure.contains(&format!(">{name}<")), "{name}");
    }
}
