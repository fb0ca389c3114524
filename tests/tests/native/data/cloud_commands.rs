//! The program over shards in object storage: credentials, secrets, losses, and `--offline`.

use std::fs;
use std::path::Path;
use std::process::Command;

use espalier_tests::object_server::Answer;
use espalier_tests::{outcome, trainer_command};

use crate::data::twin::Twin;

/// Runs `trainer data audit` with the variables of an S3 store and returns its exit code, its output and
/// its messages.
fn audit_s3(twin: &Twin, cache: &Path, path: &str) -> (Option<i32>, String, String) {
    let mut command = trainer_command();
    command
        .args([
            "data",
            "audit",
            "--dataset",
            "grit",
            "--json",
            path,
            "--data-cache",
        ])
        .arg(cache)
        .env("AWS_ENDPOINT", &twin.server.address)
        .env("AWS_ALLOW_HTTP", "true")
        .env("AWS_ACCESS_KEY_ID", "AKIAVISIBLE")
        .env("AWS_SECRET_ACCESS_KEY", "hunter2");
    outcome(&mut command)
}

#[test]
fn a_bucket_is_listed_and_read_with_credentials_that_nothing_shows() {
    let (twin, cache) = (Twin::mixed(), tempfile::tempdir().unwrap());
    let local = twin.folder.path().to_str().unwrap();
    let (_, on_disk, _) = audit_s3(&twin, cache.path(), local);
    for path in ["s3://data", "s3://data/*", "s3://data/{a.parquet,b.tar}"] {
        let (code, report, messages) = audit_s3(&twin, cache.path(), path);
        assert_eq!((code, &report), (Some(0), &on_disk), "{path}: {messages}");
    }
    let asked = twin.server.asked();
    let is_signed = |a: &str| a.contains("AKIAVISIBLE") && a.contains("Signature=");
    assert!(
        asked
            .iter()
            .all(|a| a.authorization.as_deref().is_some_and(is_signed))
    );
    // The second and the third audit read from the cache.
    let parts = asked.iter().filter(|a| a.range.is_some()).count();
    assert!(parts > 0 && parts <= 6, "{parts}");
    // The answer of a refusing store repeats the signature; the message does not.
    for status in [400, 403] {
        twin.server.behave(move |_| Answer::Status(status));
        let (code, report, messages) = audit_s3(&twin, cache.path(), "s3://data/a.parquet");
        assert_ne!(code, Some(0));
        for secret in ["AKIAVISIBLE", "hunter2", "Signature"] {
            assert!(!(report.clone() + &messages).contains(secret), "{messages}");
        }
    }
    let (_, _, messages) = audit_s3(&twin, cache.path(), "s3://data/a.parquet");
    assert!(messages.contains("AWS_ACCESS_KEY_ID"), "{messages}");
}

#[test]
fn prepared_shards_that_are_not_complete_are_refused_in_a_bucket_too() {
    let (twin, cache) = (Twin::mixed(), tempfile::tempdir().unwrap());
    twin.server.put(
        "/data/prepared.json",
        br#"{"shards":[{"tar":"b.tar"},{"tar":"c.tar"}]}"#.to_vec(),
    );
    let (code, _, messages) = audit_s3(&twin, cache.path(), "s3://data");
    assert_eq!(code, Some(2), "{messages}");
    assert!(
        messages.contains("found none of the name c.tar"),
        "{messages}"
    );
    twin.server.put("/data/preparing.json", b"{}".to_vec());
    for path in ["s3://data", "s3://data/*.tar"] {
        let (code, _, messages) = audit_s3(&twin, cache.path(), path);
        assert_eq!(code, Some(2), "{messages}");
        assert!(messages.contains("has not ended"), "{messages}");
    }
}

fn run(mut command: Command) -> (Option<i32>, String) {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), said)
}

fn fit(data: &str, logs: &Path, steps: u32, more: &[&str]) -> (Option<i32>, String) {
    let mut command = trainer_command();
    command
        .args([
            "fit",
            "--dataset",
            "grit",
            "--method",
            "hycoclip",
            "--model",
            "vit_t8_64",
        ])
        .args(["--batch-size", "8", "--deterministic", "--name", "a"])
        .args([
            "--steps",
            &steps.to_string(),
            "--logs",
            logs.to_str().unwrap(),
            "--data",
            data,
        ])
        .args([
            "--data-cache",
            logs.join("cache").to_str().unwrap(),
            "--data-cache-gib",
            "1",
        ])
        .args(more)
        .arg("train.log_frequency=1");
    run(command)
}

/// Returns the losses of a run, step by step.
fn losses(logs: &Path) -> Vec<f64> {
    let text = fs::read_to_string(logs.join("a/metrics.jsonl")).unwrap();
    let value = |line| serde_json::from_str::<serde_json::Value>(line).unwrap();
    text.lines()
        .map(|line| value(line)["loss"].as_f64().unwrap())
        .collect()
}

#[test]
fn a_run_over_a_failing_network_has_the_losses_of_one_from_disk() {
    let twin = Twin::mixed();
    twin.server.behave(|asked| match asked.number % 5 {
        1 => Answer::Status(503),
        3 => Answer::Cut,
        _ => Answer::Right,
    });
    let logs = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let pattern = "{a.parquet,b.tar}";
    let local = format!("{}/{pattern}", twin.folder.path().display());
    let (code, said) = fit(&local, logs[0].path(), 4, &[]);
    assert_eq!(code, Some(0), "{said}");
    let remote = format!("{}/data/{pattern}", twin.server.address);
    let (code, said) = fit(&remote, logs[1].path(), 4, &[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("trying again"), "{said}");
    // The run from disk goes on from the store, and the other way round.
    for (logs, data) in [(&logs[0], &remote), (&logs[1], &local)] {
        let (code, said) = fit(data, logs.path(), 6, &["--resume", "latest"]);
        assert_eq!(code, Some(0), "{said}");
    }
    let [disk, store] = logs.each_ref().map(|logs| losses(logs.path()));
    assert_eq!(disk.len(), 6);
    assert_eq!(disk, store);
}

#[test]
fn an_address_with_a_secret_is_refused_and_written_nowhere() {
    let logs = tempfile::tempdir().unwrap();
    let logs_arg = logs.path().to_str().unwrap();
    for (data, kind, method) in [
        ("https://user:hunter2@host/{0..3}.parquet", "grit", "clip"),
        (
            "https://host/a.parquet?X-Amz-Signature=hunter2",
            "grit",
            "clip",
        ),
        ("https://user:hunter2@host/a.csv", "hierarcaps", "re"),
    ] {
        let mut command = trainer_command();
        command.args(["fit", "--dataset", kind, "--method", method, "--steps", "1"]);
        command.args(["--name", "a", "--logs", logs_arg, "--data", data]);
        let (code, said) = run(command);
        assert_ne!(code, Some(0));
        assert!(
            said.contains("https://host") && !said.contains("hunter2"),
            "{said}"
        );
        assert!(!logs.path().join("a").exists());
    }
}

#[test]
fn offline_no_address_is_opened() {
    let (twin, logs) = (Twin::mixed(), tempfile::tempdir().unwrap());
    let data = format!("{}/data/a.parquet", twin.server.address);
    let (code, said) = fit(&data, logs.path(), 1, &["--offline"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("--offline"), "{said}");
    assert_eq!(twin.server.asked(), []);
}

#[test]
fn the_measurement_counts_what_a_store_sends() {
    let (twin, cache) = (Twin::mixed(), tempfile::tempdir().unwrap());
    let measure = |path: &str| -> serde_json::Value {
        let mut command = trainer_command();
        command.args([
            "data",
            "bench",
            "--dataset",
            "grit",
            "--json",
            "--boxes",
            "--records",
            "50",
        ]);
        command
            .args(["--model", "vit_t8_64", path, "--data-cache"])
            .arg(cache.path());
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let of = |report: &serde_json::Value, key: &str| report[key].as_f64().unwrap();
    let remote = format!("{}/data/b.tar", twin.server.address);
    let reports = [
        measure(twin.folder.path().join("b.tar").to_str().unwrap()),
        measure(&remote),
        measure(&remote),
    ];
    for report in &reports {
        assert_eq!((of(report, "records"), of(report, "broken")), (30.0, 0.0));
        assert_eq!(report["stages"].as_array().unwrap().len(), 5);
        assert!(of(report, "one_core") > 0.0 && of(report, "all_workers") > 0.0);
        // Images and texts of a tar are read, and most of its headers again.
        let size = fs::metadata(twin.folder.path().join("b.tar"))
            .unwrap()
            .len() as f64;
        let read = 30.0 * of(report, "bytes_read");
        assert!(read > 0.2 * size && read < 2.0 * size, "{read} of {size}");
    }
    // A tar is fetched to count its records, before the measurement begins.
    assert!(
        reports
            .iter()
            .all(|report| of(report, "bytes_fetched") == 0.0)
    );
    let parts = twin
        .server
        .asked()
        .iter()
        .filter(|a| a.range.is_some())
        .count();
    assert_eq!(parts, 1);
}
