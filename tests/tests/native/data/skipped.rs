//! Broken records are skipped and counted by cause; the others stay.

use std::collections::BTreeSet;
use std::fs;

use espalier_trainer::data::tools::prepare::prepare;
use espalier_trainer::data::{Cause, DataError};

use crate::data::shards::{Row, raw_members, raw_tar, row, rows, tar_of, write_parquet};
use crate::data::support::{audited, error_of, open, read_all};

#[test]
fn emoji_captions_are_sliced_by_characters_and_cut_at_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let emoji = Row {
        caption: "🐈‍⬛ a 🐈 on a 🛏".into(),
        // "a 🐈" is characters 4..7; the last chunk ends far past the end.
        noun_chunks: vec![
            vec![4.0, 7.0, 0.0, 0.0, 1.0, 1.0, 0.9],
            vec![11.0, 900.0, 0.0, 0.0, 1.0, 1.0, 0.9],
        ],
        ..row(1)
    };
    write_parquet(&at("a.parquet"), std::slice::from_ref(&emoji), 1);
    fs::write(at("b.tar"), raw_tar(&[emoji])).unwrap();
    let data = open(&[dir.path()]).unwrap();
    for record in read_all(&data) {
        let record = record.unwrap();
        assert_eq!(record.boxes[0].phrase, "a 🐈");
        assert_eq!(record.boxes[1].phrase, "a 🛏");
    }
    let report = audited(&data);
    assert_eq!((report.records, report.broken), (2, 0));
    assert_eq!(report.boxes.offset_past_the_end, 2);
}

#[test]
fn broken_images_and_captions_are_counted_with_an_example() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let mut rows = rows(0..6);
    rows[1].image.truncate(30);
    rows[2].image = b"this is text".to_vec();
    rows[3].image.clear();
    rows[4].caption = "  ".into();
    write_parquet(&at("a.parquet"), &rows, 4);
    let mut members: Vec<_> = rows.iter().flat_map(raw_members).collect();
    members[1].1 = b"{not json".to_vec();
    fs::write(at("b.tar"), tar_of(&members)).unwrap();

    let report = audited(&open(&[dir.path()]).unwrap());
    assert_eq!((report.records, report.broken), (12, 9));
    let causes = report.broken_by_cause.iter();
    let counts = causes.map(|broken| (broken.cause.as_str(), broken.count.count));
    let expected = [
        ("no image", 2),
        ("image cannot be read", 4),
        ("no caption", 2),
        ("metadata cannot be read", 1),
    ];
    assert_eq!(counts.collect::<Vec<_>>(), expected);
    let example = &report.broken_by_cause[1].count.example;
    assert!(example.file.ends_with("a.parquet"));
    assert_eq!(example.key, "000001");
    // The report does not depend on the number of threads.
    let data = open(&[dir.path()]).unwrap();
    let of_threads = |n| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build();
        pool.unwrap().install(|| audited(&data))
    };
    assert_eq!(of_threads(1), of_threads(3));
}

#[test]
fn a_tar_cut_anywhere_yields_its_whole_records_and_one_broken() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.tar");
    let rows = rows(0..5);
    let whole = raw_tar(&rows);
    // First byte after each record.
    let ends: Vec<usize> = (1..=5).map(|n| raw_tar(&rows[..n]).len() - 1024).collect();
    for len in [0, 511, 512, 700] {
        fs::write(&path, &whole[..len]).unwrap();
        let error = error_of(&path);
        assert!(matches!(error, DataError::NoRecords { .. }), "{error}");
    }
    let mut seen = BTreeSet::new();
    for len in (ends[0]..whole.len() - 1024).step_by(331).chain(ends) {
        fs::write(&path, &whole[..len]).unwrap();
        let records = read_all(&open(&[&path]).unwrap());
        let (last, sound) = records.split_last().unwrap();
        let cause = last.as_ref().unwrap_err().1;
        assert_eq!(cause, Cause::ShardEndsEarly, "cut at {len}");
        // A record counts as whole if nothing but its padding is missing.
        let is_whole = |n: &usize| raw_len(&rows[..*n]) <= len;
        assert_eq!(sound.len(), (1..=5).filter(is_whole).count());
        for (record, row) in sound.iter().zip(&rows) {
            let record = record.as_ref().unwrap();
            assert_eq!(record.key, row.key);
            assert_eq!(record.image.decode().unwrap().dimensions(), (96, 80));
            assert_eq!(record.boxes.len(), 3, "cut at {len}");
        }
        seen.insert(sound.len());
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
}

/// Returns the length of a tar of these rows up to the last byte of its last member.
fn raw_len(rows: &[Row]) -> usize {
    let padded = raw_tar(rows).len() - 1024;
    let last = rows.last().unwrap().caption.len();
    padded - (512 - last % 512)
}

#[test]
fn a_prepared_tar_that_lacks_crops_is_broken_and_a_cut_one_ends_early() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    write_parquet(&at("a.parquet"), &rows(0..3), 3);
    prepare(&open(&[&at("a.parquet")]).unwrap(), &at("out"), &|_| ()).unwrap();
    let tar = at("out").join("00000.tar");
    let bytes = fs::read(&tar).unwrap();

    let mut archive = tar::Archive::new(bytes.as_slice());
    let members = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().display().to_string();
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut entry, &mut bytes).unwrap();
        (name, bytes)
    });
    let members: Vec<(String, Vec<u8>)> = members.collect();
    let names: Vec<&str> = members[..9].iter().map(|(name, _)| name.as_str()).collect();
    let wanted = [
        "child.jpg",
        "child.txt",
        "numparents.txt",
        "parent000.jpg",
        "parent000.txt",
        "parent001.jpg",
        "parent001.txt",
        "parent002.jpg",
        "parent002.txt",
    ];
    assert_eq!(names, wanted.map(|extension| format!("000000.{extension}")));
    assert_eq!(members[2].1, b"3");

    let read = |name: &str, tar: &[u8]| {
        fs::write(at(name), tar).unwrap();
        read_all(&open(&[&at(name)]).unwrap())
    };
    let mut without = members.clone();
    without.retain(|(name, _)| name != "000001.parent001.jpg");
    let records = read("lacks.tar", &tar_of(&without));
    let lacking = ("000001".to_owned(), Cause::MissingMember);
    assert_eq!(records[1].as_ref().unwrap_err(), &lacking);
    assert!(records[0].is_ok() && records[2].is_ok());

    let mut counted = members;
    counted[2].1 = b"18446744073709551615".to_vec();
    let records = read("counted.tar", &tar_of(&counted));
    let unreadable = ("000000".to_owned(), Cause::UnreadableMetadata);
    assert_eq!(records[0].as_ref().unwrap_err(), &unreadable);

    let records = read("cut.tar", &bytes[..bytes.len() / 2]);
    assert!(records[0].is_ok());
    let last = records.last().unwrap().as_ref().unwrap_err();
    assert_eq!(last, &("000001".to_owned(), Cause::ShardEndsEarly));
}

#[test]
fn a_parquet_without_its_footer_is_one_broken_record_among_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    write_parquet(&at("a.parquet"), &rows(0..4), 4);
    write_parquet(&at("b.parquet"), &rows(4..8), 4);
    let bytes = fs::read(at("b.parquet")).unwrap();
    fs::write(at("b.parquet"), &bytes[..bytes.len() / 2]).unwrap();
    let report = audited(&open(&[dir.path()]).unwrap());
    assert_eq!((report.records, report.broken, report.shards), (5, 1, 2));
    assert_eq!(report.broken_by_cause[0].cause, "shard ends early");
}
