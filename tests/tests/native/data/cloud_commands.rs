//! The program over shards in object storage: credentials, secrets, losses, and `--offline`.

use std::ffi::OsStr;
use std::path::Path;

use espalier_tests::calls::{Call, call, metrics};
use espalier_tests::object_server::Answer;

use crate::data::twin::Twin;

/// Returns the call of `trainer data audit` with the variables of an S3 store.
fn audit_s3(twin: &Twin, cache: &Path, path: impl AsRef<OsStr>) -> Call {
    call("data audit --dataset grit --json")
        .arg(path)
        .set("--data-cache", cache)
        .env("AWS_ENDPOINT", &twin.server.address)
        .env("AWS_ALLOW_HTTP", "true")
        .env("AWS_ACCESS_KEY_ID", "AKIAVISIBLE")
        .env("AWS_SECRET_ACCESS_KEY", "hunter2")
}

#[test]
fn a_bucket_is_listed_and_read_with_credentials_that_nothing_shows() {
    let (twin, cache) = (Twin::mixed(), tempfile::tempdir().unwrap());
    let on_disk = audit_s3(&twin, cache.path(), twin.folder.path());
    let on_disk = on_disk.done().out;
    let audit = |path: &str| audit_s3(&twin, cache.path(), path);
    for path in ["s3://data", "s3://data/*", "s3://data/{a.parquet,b.tar}"] {
        assert_eq!(audit(path).done().out, on_disk, "{path}");
    }
    let asked = twin.server.asked();
    let is_signed = |a: &str| a.contains("AKIAVISIBLE") && a.contains("Signature=");
    let mut signatures = asked.iter().map(|a| a.authorization.as_deref());
    assert!(signatures.all(|signature| signature.is_some_and(is_signed)));
    // The second and the third audit read from the cache.
    let parts = asked.iter().filter(|a| a.range.is_some()).count();
    assert!(parts > 0 && parts <= 6, "{parts}");
    // The answer of a refusing store repeats the signature; the message does not.
    for status in [400, 403] {
        twin.server.behave(move |_| Answer::Status(status));
        let ended = audit("s3://data/a.parquet").ended();
        assert_ne!(ended.code, Some(0));
        for secret in ["AKIAVISIBLE", "hunter2", "Signature"] {
            let told = [&ended.out, &ended.said];
            assert!(!told.iter().any(|text| text.contains(secret)), "{told:?}");
        }
    }
    let said = audit("s3://data/a.parquet").ended().said;
    assert!(said.contains("AWS_ACCESS_KEY_ID"), "{said}");
}

#[test]
fn prepared_shards_that_are_not_complete_are_refused_in_a_bucket_too() {
    let (twin, cache) = (Twin::mixed(), tempfile::tempdir().unwrap());
    let listed = br#"{"shards":[{"tar":"b.tar"},{"tar":"c.tar"}]}"#;
    twin.server.put("/data/prepared.json", listed.to_vec());
    let audit = |path: &str| audit_s3(&twin, cache.path(), path);
    audit("s3://data").refused(&["found none of the name c.tar"]);
    twin.server.put("/data/preparing.json", b"{}".to_vec());
    for path in ["s3://data", "s3://data/*.tar"] {
        audit(path).refused(&["has not ended"]);
    }
}

/// Returns the call that trains on data, with everything else in the folder `logs`.
fn fit(data: &str, logs: &Path, more: &str) -> Call {
    call("fit --dataset grit --method hycoclip --model vit_t8_64 --batch-size 8 --deterministic")
        .set("--name", "a")
        .set("--logs", logs)
        .set("--data", data)
        .set("--data-cache", logs.join("cache"))
        .with("--data-cache-gib 1 train.log_frequency=1")
        .with(more)
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
    fit(&local, logs[0].path(), "--steps 4").done();
    let remote = format!("{}/data/{pattern}", twin.server.address);
    let from_store = fit(&remote, logs[1].path(), "--steps 4");
    from_store.ends_with(0, &["trying again"]);
    // The run from disk goes on from the store, and the other way round.
    for (logs, data) in [(&logs[0], &remote), (&logs[1], &local)] {
        fit(data, logs.path(), "--steps 6 --resume latest").done();
    }
    let [disk, store] = logs.map(|logs| metrics(&logs.path().join("a")));
    assert_eq!(disk.len(), 6);
    for (known, found) in disk.iter().zip(&store) {
        assert_eq!(known["loss"], found["loss"]);
    }
    assert_eq!(store.len(), 6);
}

#[test]
fn an_address_with_a_secret_is_refused_and_written_nowhere() {
    let logs = tempfile::tempdir().unwrap();
    for (data, kind, method) in [
        ("user:hunter2@host/{0..3}.parquet", "grit", "clip"),
        ("host/a.parquet?X-Amz-Signature=hunter2", "grit", "clip"),
        ("user:hunter2@host/a.csv", "hierarcaps", "re"),
    ] {
        let ended = call("fit --steps 1 --name a")
            .set("--dataset", kind)
            .set("--method", method)
            .set("--logs", logs.path())
            .set("--data", format!("https://{data}"))
            .ended();
        let said = ended.said;
        assert_ne!(ended.code, Some(0));
        let is_without = said.contains("https://host") && !said.contains("hunter2");
        assert!(is_without, "{said}");
        assert!(!logs.path().join("a").exists());
    }
}

#[test]
fn offline_no_address_is_opened() {
    let (twin, logs) = (Twin::mixed(), tempfile::tempdir().unwrap());
    let data = format!("{}/data/a.parquet", twin.server.address);
    let offline = fit(&data, logs.path(), "--steps 1 --offline");
    offline.refused(&["--offline"]);
    assert_eq!(twin.server.asked(), []);
}

#[test]
fn the_measurement_counts_what_a_store_sends() {
    let (twin, cache) = (Twin::mixed(), tempfile::tempdir().unwrap());
    let measure = |path: &Path| {
        call("data bench --dataset grit --json --boxes --records 50 --model vit_t8_64")
            .arg(path)
            .set("--data-cache", cache.path())
            .json()
    };
    let of = |report: &serde_json::Value, key: &str| report[key].as_f64().unwrap();
    let (local, remote) = (twin.folder.path().join("b.tar"), twin.remote("b.tar"));
    let size = local.metadata().unwrap().len() as f64;
    let reports = [measure(&local), measure(&remote), measure(&remote)];
    for report in &reports {
        assert_eq!((of(report, "records"), of(report, "broken")), (30.0, 0.0));
        assert_eq!(report["stages"].as_array().unwrap().len(), 5);
        assert!(of(report, "one_core") > 0.0 && of(report, "all_workers") > 0.0);
        // Images and texts of a tar are read, and most of its headers again.
        let read = 30.0 * of(report, "bytes_read");
        assert!(read > 0.2 * size && read < 2.0 * size, "{read} of {size}");
    }
    // A tar is fetched to count its records, before the measurement begins.
    let mut fetched = reports.iter().map(|report| of(report, "bytes_fetched"));
    assert!(fetched.all(|bytes| bytes == 0.0));
    let asked = twin.server.asked();
    assert_eq!(asked.iter().filter(|a| a.range.is_some()).count(), 1);
}
