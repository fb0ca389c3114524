//! Runs that end early: by a signal, by a closed pipe, by a kill. A checkpoint is written where there
//! is time for it, the exit code says what happened, and a resumed run ends as an unbroken one does.

#![cfg(unix)]
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use espalier_tests::trainer_command;

/// Returns a command that trains on synthetic data into the folder `logs`.
fn fit(logs: &Path, more: &[&str]) -> Command {
    let mut command = trainer_command();
    let fixed = "fit --dataset synthetic --model vit_t8_64 --warmup 2 --lr 1e-3";
    command.args(fixed.split(' ')).arg("--logs").arg(logs);
    command.args(["--name", "a"]).args(more);
    if !more.contains(&"--batch-size") {
        command.args(["--batch-size", "8"]);
    }
    command.args(["train.log_frequency=1", "dataset.synthetic_records=256"]);
    command
}

/// Runs a command to its end; returns the exit code and what it said.
fn ended(mut command: Command) -> (Option<i32>, String) {
    let out = command.output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(!said.contains("panicked"), "{said}");
    (out.status.code(), said)
}

fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(300), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill")
        .args([format!("-{name}"), child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
}

/// Returns the names in the folder of checkpoints.
fn checkpoints(logs: &Path) -> Vec<String> {
    let entries = fs::read_dir(logs.join("a/checkpoints")).unwrap();
    let mut names: Vec<String> = entries
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

#[test]
fn a_resumed_deterministic_run_ends_with_the_bits_of_an_unbroken_one() {
    // Products of small batches take another way through the matrix product.
    for (method, batch) in [("clip", "8"), ("hycoclip", "8"), ("clip", "4")] {
        let dir = tempfile::tempdir().unwrap();
        let (whole, resumed) = (dir.path().join("whole"), dir.path().join("resumed"));
        let more = [
            "--method",
            method,
            "--steps",
            "4",
            "--save-frequency",
            "2",
            "--deterministic",
            "--ema",
            "0.9",
            "--batch-size",
            batch,
        ];
        let (code, said) = ended(fit(&whole, &more));
        assert_eq!(code, Some(0), "{said}");
        // As after a kill between the two checkpoints.
        copy(&whole, &resumed);
        fs::remove_dir_all(resumed.join("a/checkpoints/checkpoint_00000004")).unwrap();
        let (code, said) = ended(fit(
            &resumed,
            &[&["--resume", "latest"], &more[..]].concat(),
        ));
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("resumes after step 2"), "{said}");
        // The file of the optimiser lists the same values in any order.
        for file in ["model.safetensors", "ema.safetensors", "state.json"] {
            let bytes = |logs: &Path| {
                let path = logs.join("a/checkpoints/checkpoint_00000004").join(file);
                fs::read(path).unwrap()
            };
            assert!(
                bytes(&whole) == bytes(&resumed),
                "{method}, batches of {batch}: {file} differs"
            );
        }
    }
}

#[test]
fn a_run_is_not_resumed_with_another_configuration_unless_that_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let logs = dir.path();
    let (code, said) = ended(fit(logs, &["--method", "clip", "--steps", "2"]));
    assert_eq!(code, Some(0), "{said}");
    let config = || fs::read_to_string(logs.join("a/config.toml")).unwrap();
    let first = config();
    let changed = [
        "--resume",
        "latest",
        "--method",
        "meru",
        "--seed",
        "9",
        "--batch-size",
        "16",
        "--steps",
        "3",
    ];
    let (code, said) = ended(fit(logs, &changed));
    assert_eq!(code, Some(2), "{said}");
    for expected in [
        "train.method: \"clip\" in the run, \"meru\" now",
        "train.seed: 0 in the run, 9 now",
        "train.batch_size: 8 in the run, 16 now",
        "--resume-with-changes",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    assert_eq!(config(), first);
    // More steps are no other configuration.
    let (code, said) = ended(fit(logs, &["--resume", "latest", "--steps", "3"]));
    assert_eq!(code, Some(0), "{said}");
    let kept = fs::read_to_string(logs.join("a/config_1.toml")).unwrap();
    assert!(kept.contains("# train.steps: 2 before, 3 since"), "{kept}");
    assert!(kept.ends_with(&first), "{kept}");
    // With the flag the run goes on, and what it was before is kept.
    let (code, said) = ended(fit(
        logs,
        &[
            "--resume",
            "latest",
            "--seed",
            "9",
            "--steps",
            "4",
            "--resume-with-changes",
        ],
    ));
    assert_eq!(code, Some(0), "{said}");
    assert!(config().contains("seed = 9"));
    let kept = fs::read_to_string(logs.join("a/config_2.toml")).unwrap();
    assert!(kept.contains("after step 3") && kept.contains("# train.seed: 0 before, 9 since"));
}

#[test]
fn a_signal_writes_a_checkpoint_and_is_the_exit_code() {
    for (name, expected) in [("INT", 130), ("TERM", 143)] {
        let dir = tempfile::tempdir().unwrap();
        let more = ["--method", "clip", "--steps", "100000"];
        let mut child = fit(dir.path(), &more)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let metrics = dir.path().join("a/metrics.jsonl");
        wait_until("no step was taken", || {
            fs::metadata(&metrics).is_ok_and(|found| found.len() > 0)
        });
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), Some(expected), "{name}");
        let left = checkpoints(dir.path());
        assert_eq!(left.len(), 1, "{left:?}");
        assert!(left[0].starts_with("checkpoint_"), "{left:?}");
    }
}

#[test]
fn a_second_interrupt_ends_at_once_and_leaves_no_temporary_file() {
    let dir = tempfile::tempdir().unwrap();
    let more = [
        "--method",
        "clip",
        "--steps",
        "100000",
        "--save-frequency",
        "1",
    ];
    let mut child = fit(dir.path(), &more)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let noted = dir.path().join("a/last_checkpoint.txt");
    wait_until("no checkpoint was written", || noted.exists());
    signal(&child, "INT");
    // Until the first is noticed, a second one counts as the same.
    let said = BufReader::new(child.stderr.take().unwrap());
    let mut lines = said.lines().map_while(Result::ok);
    assert!(lines.any(|line| line.starts_with("interrupted")));
    signal(&child, "INT");
    let code = child.wait().unwrap().code();
    assert_eq!(code, Some(130));
    let mut folders = vec![dir.path().to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            assert!(
                !path.to_string_lossy().ends_with(".tmp"),
                "{}",
                path.display()
            );
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
}

#[test]
fn a_reader_that_closes_the_pipe_stops_a_run_with_a_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    // A line every ten seconds would make the test slow: validation is reported at each checkpoint.
    let more = [
        "--method",
        "clip",
        "--steps",
        "100000",
        "--save-frequency",
        "2",
        "--val-data",
        "synthetic",
        "train.val_batches=1",
    ];
    let mut child = fit(dir.path(), &more)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line.contains("steps of"), "{line}");
    drop(said);
    assert_eq!(child.wait().unwrap().code(), Some(141));
    assert!(checkpoints(dir.path())[0].starts_with("checkpoint_"));
}

#[test]
fn output_that_cannot_be_written_is_an_error_in_words() {
    let command = |stdout: Stdio| {
        let dir = tempfile::tempdir().unwrap();
        let mut dry_run = fit(
            dir.path(),
            &["--method", "clip", "--steps", "1", "--dry-run"],
        );
        let mut child = dry_run
            .stdout(stdout)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut said = String::new();
        let mut stderr = child.stderr.take().unwrap();
        stderr.read_to_string(&mut said).unwrap();
        (child.wait().unwrap().code(), said)
    };
    let (code, said) = command(Stdio::piped());
    assert_eq!((code, said.as_str()), (Some(141), ""));
    let full = Path::new("/dev/full");
    if full.exists() {
        let (code, said) = command(File::create(full).unwrap().into());
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("writing to standard output"), "{said}");
        assert!(!said.contains("panicked"), "{said}");
    }
}

#[test]
fn what_a_kill_leaves_of_a_checkpoint_is_removed_when_the_run_is_resumed() {
    let dir = tempfile::tempdir().unwrap();
    let (code, said) = ended(fit(dir.path(), &["--method", "clip", "--steps", "2"]));
    assert_eq!(code, Some(0), "{said}");
    for name in [".checkpoint_00000003.tmp", ".checkpoint_00000001.old.tmp"] {
        let folder = dir.path().join("a/checkpoints").join(name);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("optim.bpk"), "half").unwrap();
    }
    let (code, said) = ended(fit(dir.path(), &["--resume", "latest", "--steps", "3"]));
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(
        checkpoints(dir.path()),
        ["checkpoint_00000002", "checkpoint_00000003"]
    );
}

#[test]
fn a_taxonomy_without_a_label_of_the_data_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let labels = ["--method", "clip", "--steps", "3", "loss.labels=1"];
    let (code, said) = ended(fit(
        dir.path(),
        &[&["--taxonomy", "imagenet"], &labels[..]].concat(),
    ));
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("labels of the taxonomy (imagenet; 1000 labels"),
        "{said}"
    );
    assert!(
        !dir.path().join("a").exists(),
        "a run that cannot learn was begun"
    );
    let (code, said) = ended(fit(dir.path(), &labels));
    assert_eq!(code, Some(0), "{said}");
}
