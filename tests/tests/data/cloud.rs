//! Shards in object storage give the same records as on disk, whatever the network does; a store that
//! fails or changes ends the run, and its records are not skipped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

use espalier_tests::object_server::{Answer, ObjectServer};
use espalier_tests::{outcome, trainer_command};
use espalier_trainer::data::records::source::Dataset;
use espalier_trainer::data::{Cause, DataError, Grit, Position, Positions};
use espalier_trainer::storage::{self, set_cache};
use tempfile::TempDir;

use crate::shards::{Row, raw_tar, row, rows, write_parquet};
use crate::support::{audited, read_all, spec, stream, take};

/// Returns a record whose image cannot be packed, so that shards have many blocks.
fn large(number: usize) -> Row {
    let mut state = number as u64 + 1;
    let noise = (0..40_000).map(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    });
    Row {
        picture: noise.collect(),
        ..row(number)
    }
}

/// A folder with shards, and a server of the same objects.
struct Twin {
    folder: TempDir,
    server: ObjectServer,
}

impl Twin {
    fn new(write: impl Fn(&Path)) -> Self {
        // The cache is one for all tests of this process; each server has another address.
        static CACHE: OnceLock<TempDir> = OnceLock::new();
        let cache = CACHE.get_or_init(|| tempfile::tempdir().unwrap());
        set_cache(Some(cache.path()), Some(1));
        let folder = tempfile::tempdir().unwrap();
        write(folder.path());
        let server = ObjectServer::of("data", folder.path());
        Self { folder, server }
    }

    /// Six row groups and a tar, 70 records in all.
    fn mixed() -> Self {
        Self::new(|dir| {
            write_parquet(&dir.join("a.parquet"), &rows(0..40), 7);
            fs::write(dir.join("b.tar"), raw_tar(&rows(40..70))).unwrap();
        })
    }

    /// Twelve row groups of about 400 kB.
    fn large() -> Self {
        let rows: Vec<Row> = (0..120).map(large).collect();
        Self::new(|dir| write_parquet(&dir.join("a.parquet"), &rows, 10))
    }

    fn remote(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("{}/data/{name}", self.server.address))
    }

    fn open(&self, names: &[&str]) -> [Arc<dyn Dataset>; 2] {
        let local: Vec<PathBuf> = names.iter().map(|n| self.folder.path().join(n)).collect();
        let remote: Vec<PathBuf> = names.iter().map(|n| self.remote(n)).collect();
        [
            Arc::new(Grit::open(&local).unwrap()),
            Arc::new(Grit::open(&remote).unwrap()),
        ]
    }

    fn error(&self, name: &str) -> DataError {
        Grit::open(&[self.remote(name)]).err().unwrap()
    }
}

/// Key, caption and pixels of a record, or the key and the cause of a broken one.
type Content = Result<(String, String, Vec<u8>), (String, Cause)>;

fn contents(data: &dyn Dataset) -> Vec<Content> {
    let records = read_all(data).into_iter();
    records
        .map(|record| {
            let record = record?;
            let picture = record
                .picture
                .decode()
                .map_or_else(|_| Vec::new(), image::ImageBuffer::into_raw);
            Ok((record.key, record.caption, picture))
        })
        .collect()
}

#[test]
fn records_batches_and_fingerprint_are_those_from_disk() {
    let twin = Twin::mixed();
    let [local, remote] = twin.open(&["a.parquet", "b.tar"]);
    assert_eq!(local.fingerprint(), remote.fingerprint());
    assert_eq!(local.units(), remote.units());
    assert_eq!(contents(&*local), contents(&*remote));
    assert_eq!(audited(&*local), audited(&*remote));
    let batches = |data: &Arc<dyn Dataset>, from: Positions| {
        let batches = take(stream(Arc::clone(data), spec(8), from), 12);
        batches
            .into_iter()
            .map(|b| (b.keys, b.captions.ids, b.position_after))
            .collect::<Vec<_>>()
    };
    let all = batches(&local, Positions::start(1));
    assert_eq!(all, batches(&remote, Positions::start(1)));
    // A run that was begun on disk goes on from the store at the same record.
    assert_eq!(batches(&remote, all[4].2.clone())[..7], all[5..]);
}

#[test]
fn only_the_row_groups_that_are_read_are_fetched_and_only_once() {
    let twin = Twin::large();
    let size = fs::metadata(twin.folder.path().join("a.parquet"))
        .unwrap()
        .len() as usize;
    assert!(size > 4_000_000, "{size}");
    let [local, remote] = twin.open(&["a.parquet"]);
    let opened = twin.server.bytes_asked();
    assert!(opened <= 3 * (256 << 10), "{opened} bytes to open a shard");
    let before = storage::traffic();
    let same = |unit: usize| {
        let [a, b] = [&local, &remote].map(|data| data.load(unit).unwrap().read(3).unwrap());
        assert_eq!((a.key, a.caption), (b.key, b.caption));
    };
    same(5);
    let one = twin.server.bytes_asked() - opened;
    assert!(
        (400_000..1_000_000).contains(&one),
        "{one} bytes for a row group"
    );
    assert!(storage::traffic().read > before.read);
    (0..12).for_each(same);
    let all = twin.server.bytes_asked();
    assert!(all <= size + (256 << 10), "{all} bytes of {size}");
    (0..12).for_each(same);
    assert_eq!(twin.server.bytes_asked(), all);
    // The object is asked for once, and each part only if it is still the same object.
    let asked = twin.server.asked();
    assert_eq!(asked.iter().filter(|a| a.method == "HEAD").count(), 1);
    assert!(
        asked
            .iter()
            .filter(|a| a.method == "GET")
            .all(|a| a.if_match.is_some())
    );
}

#[test]
fn faults_that_pass_change_nothing() {
    let twin = Twin::mixed();
    // Of each three requests, two fail in some way.
    twin.server.behave(|asked| match asked.number % 9 {
        0 => Answer::Status(503),
        1 | 4 => Answer::Cut,
        3 => Answer::Status(429),
        6 => Answer::Status(500),
        7 => Answer::Slow(200),
        _ => Answer::Right,
    });
    let [local, remote] = twin.open(&["a.parquet", "b.tar"]);
    assert_eq!(contents(&*local), contents(&*remote));
    let faults = twin
        .server
        .asked()
        .iter()
        .filter(|a| [0, 1, 3, 4, 6].contains(&(a.number % 9)))
        .count();
    assert!(faults >= 4, "{faults} requests failed");
}

#[test]
fn an_object_that_changes_ends_the_run_and_skips_no_record() {
    let twin = Twin::large();
    let [_, remote] = twin.open(&["a.parquet"]);
    remote.load(0).map(|_| ()).unwrap();
    let mut bytes = fs::read(twin.folder.path().join("a.parquet")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    twin.server.put("/data/a.parquet", bytes);
    let broken = remote.load(6).err().unwrap();
    assert_eq!(broken.fault.cause, Cause::StorageFailed);
    assert!(
        broken.fault.detail.contains("changed while it was in use"),
        "{}",
        broken.fault.detail
    );
    let mut stream = stream(remote, spec(8), Position::default());
    let error = stream.find_map(Result::err).unwrap();
    assert!(matches!(error, DataError::Storage { .. }), "{error}");
    assert_eq!(error.exit_code(), 1);
    assert!(
        error
            .to_string()
            .contains("/data/a.parquet: the object changed"),
        "{error}"
    );
    // A store that ignores `If-Match` is noticed by the tag of its answer.
    let twin = Twin::large();
    let [_, remote] = twin.open(&["a.parquet"]);
    twin.server.behave(|_| Answer::OtherTag);
    let broken = remote.load(6).err().unwrap();
    assert!(
        broken.fault.detail.contains("e-tag \"other\""),
        "{}",
        broken.fault.detail
    );
}

#[test]
fn a_store_that_is_lost_ends_the_run_and_skips_no_record() {
    let twin = Twin::large();
    let [_, remote] = twin.open(&["a.parquet"]);
    for (status, told) in [
        (404, "found none"),
        (403, "refuses access"),
        (400, "status 400"),
    ] {
        twin.server.behave(move |_| Answer::Status(status));
        let mut stream = stream(Arc::clone(&remote), spec(8), Position::default());
        let error = stream.find_map(Result::err).unwrap();
        assert!(matches!(error, DataError::Storage { .. }), "{error}");
        assert!(error.to_string().contains(told), "{error}");
    }
    // It is there again: the same process goes on.
    twin.server.behave(|_| Answer::Right);
    assert_eq!(
        read_all(&*remote)
            .iter()
            .filter(|record| record.is_err())
            .count(),
        0
    );
}

#[test]
fn a_lying_store_is_refused_or_its_records_are_counted_as_damaged() {
    // Other bytes of the right length, where nothing but the format can notice.
    let twin = Twin::large();
    let [_, remote] = twin.open(&["a.parquet"]);
    twin.server.behave(|_| Answer::OtherBytes);
    let broken = remote.load(6).err().unwrap();
    assert_eq!(broken.fault.cause, Cause::ShardDamaged);
    // Bytes of another place of the object.
    let twin = Twin::large();
    let [_, remote] = twin.open(&["a.parquet"]);
    twin.server.behave(|_| Answer::OtherRange);
    let broken = remote.load(6).err().unwrap();
    assert_eq!(broken.fault.cause, Cause::StorageFailed);
    // More bytes than announced, without an end: what was announced is read.
    twin.server.behave(|_| Answer::Endless);
    assert!(remote.load(7).unwrap().read(0).is_ok());
}

#[test]
fn a_server_without_ranges_is_refused_with_what_to_do() {
    let twin = Twin::mixed();
    twin.server.behave(|_| Answer::NoRanges);
    let error = twin.error("a.parquet");
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("HTTP range requests"), "{error}");
    assert!(error.to_string().contains("/data/a.parquet"), "{error}");
    twin.server.behave(|_| Answer::Right);
    let error = twin.error("none.parquet");
    assert!(
        error.to_string().contains("expected an object, found none"),
        "{error}"
    );
    assert_eq!(error.exit_code(), 2);
    let error = twin.error("");
    assert!(
        error
            .to_string()
            .contains("a server that does not list it (HTTP status 405)"),
        "{error}"
    );
}

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
    fs::write(twin.folder.path().join("ignored.txt"), "x").unwrap();
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
