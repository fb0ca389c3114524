//! Runs that end early: by a signal, by a closed pipe, by a kill. A checkpoint is written where there
//! is time for it, the exit code says what happened, and a resumed run ends as an unbroken one does.

#![cfg(unix)]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use espalier_tests::calls::{Call, call};
use espalier_tests::{signal, wait_until};

/// Returns the call that trains on synthetic data into the folder `logs`.
fn fit(logs: &Path, more: &str) -> Call {
    let size = match more.contains("--batch-size") {
        true => "",
        false => "--batch-size 8",
    };
    call("fit --dataset synthetic --model vit_t8_64 --warmup 2 --lr 1e-3 --name a")
        .set("--logs", logs)
        .with(size)
        .with(more)
        .with("train.log_frequency=1 dataset.synthetic_records=256")
}

/// Returns the names in the folder of checkpoints.
fn checkpoints(logs: &Path) -> Vec<String> {
    espalier_fixtures::listing::names(&logs.join("a/checkpoints"))
}

#[test]
fn a_resumed_deterministic_run_ends_with_the_bits_of_an_unbroken_one() {
    // Products of small batches take another way through the matrix product.
    for (method, batch) in [("clip", "8"), ("hycoclip", "8"), ("clip", "4")] {
        let dir = tempfile::tempdir().unwrap();
        let (whole, resumed) = (dir.path().join("whole"), dir.path().join("resumed"));
        let fixed = "--steps 4 --save-frequency 2 --deterministic --ema 0.9";
        let more = format!("{fixed} --method {method} --batch-size {batch}");
        fit(&whole, &more).done();
        // As after a kill between the two checkpoints.
        xtask::files::copy_folder(&whole, &resumed).unwrap();
        fs::remove_dir_all(resumed.join("a/checkpoints/checkpoint_00000004")).unwrap();
        let again = fit(&resumed, &more).with("--resume latest");
        again.ends_with(0, &["resumes after step 2"]);
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
    fit(logs, "--method clip --steps 2").done();
    let config = || fs::read_to_string(logs.join("a/config.toml")).unwrap();
    let first = config();
    let resumed = |more: &str| fit(logs, more).with("--resume latest");
    let changed = "--method meru --seed 9 --batch-size 16 --steps 3";
    let refused = resumed(changed).refused(&[
        "train.method: \"clip\" in the run, \"meru\" now",
        "train.seed: 0 in the run, 9 now",
        "train.batch_size: 8 in the run, 16 now",
        "--resume-with-changes",
    ]);
    assert!(!refused.said.contains("train.steps"), "{}", refused.said);
    assert_eq!(config(), first);
    // More steps are no other configuration.
    resumed("--steps 3").done();
    let kept = fs::read_to_string(logs.join("a/config_1.toml")).unwrap();
    assert!(kept.contains("# train.steps: 2 before, 3 since"), "{kept}");
    assert!(kept.ends_with(&first), "{kept}");
    // With the flag the run goes on, and what it was before is kept.
    resumed("--seed 9 --steps 4 --resume-with-changes").done();
    assert!(config().contains("seed = 9"));
    let kept = fs::read_to_string(logs.join("a/config_2.toml")).unwrap();
    assert!(kept.contains("after step 3") && kept.contains("# train.seed: 0 before, 9 since"));
}

#[test]
fn a_signal_writes_a_checkpoint_and_is_the_exit_code() {
    for (name, expected) in [("INT", 130), ("TERM", 143)] {
        let dir = tempfile::tempdir().unwrap();
        let mut command = fit(dir.path(), "--method clip --steps 100000").command();
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let metrics = dir.path().join("a/metrics.jsonl");
        wait_until("no step was taken", || {
            fs::metadata(&metrics).is_ok_and(|found| found.len() > 0)
        });
        signal(child.id(), name);
        assert_eq!(child.wait().unwrap().code(), Some(expected), "{name}");
        let left = checkpoints(dir.path());
        assert_eq!(left.len(), 1, "{left:?}");
        assert!(left[0].starts_with("checkpoint_"), "{left:?}");
    }
}

#[test]
fn a_second_interrupt_ends_at_once_and_leaves_no_temporary_file() {
    let dir = tempfile::tempdir().unwrap();
    let more = "--method clip --steps 100000 --save-frequency 1";
    let mut command = fit(dir.path(), more).command();
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let noted = dir.path().join("a/last_checkpoint.txt");
    wait_until("no checkpoint was written", || noted.exists());
    signal(child.id(), "INT");
    // Until the first is noticed, a second one counts as the same.
    let said = BufReader::new(child.stderr.take().unwrap());
    let mut lines = said.lines().map_while(Result::ok);
    assert!(lines.any(|line| line.starts_with("interrupted")));
    signal(child.id(), "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let mut folders = vec![dir.path().to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            let is_temporary = path.extension().is_some_and(|e| e == "tmp");
            assert!(!is_temporary, "{}", path.display());
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
    let more = "--method clip --steps 100000 --save-frequency 2 --val-data synthetic";
    let fit = fit(dir.path(), more).with("train.val_batches=1");
    let mut command = fit.command();
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
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
        let dry_run = fit(dir.path(), "--method clip --steps 1 --dry-run");
        let mut child = dry_run
            .command()
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
fn a_taxonomy_without_a_label_of_the_data_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let labels = || fit(dir.path(), "--method clip --steps 3 loss.labels=1");
    let told = ["labels of the taxonomy (imagenet; 1000 labels"];
    labels().with("--taxonomy imagenet").refused(&told);
    let begun = dir.path().join("a").exists();
    assert!(!begun, "a run that cannot learn was begun");
    labels().done();
}
