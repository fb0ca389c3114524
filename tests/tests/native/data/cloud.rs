//! Shards in object storage give the same records as on disk, whatever the network does; a store that
//! fails or changes ends the run, and its records are not skipped.

use std::fs;
use std::sync::Arc;

use espalier_tests::object_server::Answer;
use espalier_trainer::data::records::source::{Dataset, Record};
use espalier_trainer::data::{Cause, DataError, Position, Positions};
use espalier_trainer::storage;

use crate::data::support::{audited, read_all, spec, stream, take};
use crate::data::twin::Twin;

/// Key, caption and pixels of a record, or the key and the cause of a broken one.
type Content = Result<(String, String, Vec<u8>), (String, Cause)>;

fn contents(data: &dyn Dataset) -> Vec<Content> {
    let content = |record: Result<Record, (String, Cause)>| -> Content {
        let record = record?;
        let image = record.image.decode();
        let pixels = image.map_or_else(|_| Vec::new(), image::ImageBuffer::into_raw);
        Ok((record.key, record.caption, pixels))
    };
    read_all(data).into_iter().map(content).collect()
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
        let batches = take(stream(Arc::clone(data), spec(8), from), 12).into_iter();
        let contents = batches.map(|b| (b.keys, b.captions.ids, b.position_after));
        contents.collect::<Vec<_>>()
    };
    let all = batches(&local, Positions::start(1));
    assert_eq!(all, batches(&remote, Positions::start(1)));
    // A run that was begun on disk goes on from the store at the same record.
    assert_eq!(batches(&remote, all[4].2.clone())[..7], all[5..]);
}

#[test]
fn only_the_row_groups_that_are_read_are_fetched_and_only_once() {
    let twin = Twin::large();
    let path = twin.folder.path().join("a.parquet");
    let size = path.metadata().unwrap().len() as usize;
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
    let is_one = (400_000..1_000_000).contains(&one);
    assert!(is_one, "{one} bytes for a row group");
    assert!(storage::traffic().read > before.read);
    (0..12).for_each(same);
    let all = twin.server.bytes_asked();
    assert!(all <= size + (256 << 10), "{all} bytes of {size}");
    (0..12).for_each(same);
    assert_eq!(twin.server.bytes_asked(), all);
    // The object is asked for once, and each part only if it is still the same object.
    let asked = twin.server.asked();
    assert_eq!(asked.iter().filter(|a| a.method == "HEAD").count(), 1);
    let mut parts = asked.iter().filter(|a| a.method == "GET");
    assert!(parts.all(|a| a.if_match.is_some()));
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
    let asked = twin.server.asked();
    let failed = asked
        .iter()
        .filter(|a| [0, 1, 3, 4, 6].contains(&(a.number % 9)));
    assert!(failed.count() >= 4, "{asked:?}");
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
    let detail = broken.fault.detail;
    assert!(detail.contains("changed while it was in use"), "{detail}");
    let mut stream = stream(remote, spec(8), Position::default());
    let error = stream.find_map(Result::err).unwrap();
    assert!(matches!(error, DataError::Storage { .. }), "{error}");
    assert_eq!(error.exit_code(), 1);
    let told = "/data/a.parquet: the object changed";
    assert!(error.to_string().contains(told), "{error}");
    // A store that ignores `If-Match` is noticed by the tag of its answer.
    let twin = Twin::large();
    let [_, remote] = twin.open(&["a.parquet"]);
    twin.server.behave(|_| Answer::OtherTag);
    let detail = remote.load(6).err().unwrap().fault.detail;
    assert!(detail.contains("e-tag \"other\""), "{detail}");
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
    assert!(read_all(&*remote).iter().all(Result::is_ok));
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
    let refused = |name: &str, told: &str| {
        let error = twin.error(name);
        assert!(error.to_string().contains(told), "{error}");
        assert_eq!(error.exit_code(), 2);
    };
    refused("a.parquet", "HTTP range requests");
    refused("a.parquet", "/data/a.parquet");
    twin.server.behave(|_| Answer::Right);
    refused("none.parquet", "expected an object, found none");
    refused("", "a server that does not list it (HTTP status 405)");
}
