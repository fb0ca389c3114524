//! Unusable shards are refused when they are opened, with what was expected and what was found.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use espalier_trainer::data::records::record_image::RecordImage;
use espalier_trainer::data::{Cause, Dataset};
use parquet::basic::Encoding;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;

use crate::data::shards::{
    Row, parquet_columns, rows, tar_of, write_columns, write_packed, write_with,
};
use crate::data::support::{error_of, open};

/// Asserts that the shard that `write` writes is refused with these words.
#[track_caller]
fn refused(name: &str, write: impl FnOnce(&Path), words: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    write(&path);
    let error = error_of(&path);
    assert_eq!(error.exit_code(), 2);
    let message = error.to_string();
    for word in words {
        assert!(message.contains(word), "no `{word}` in: {message}");
    }
}

#[test]
fn a_renamed_column_is_refused_with_expected_and_found() {
    let mut columns = parquet_columns(&rows(0..2));
    columns[2].0 = "text";
    let words = [
        "a.parquet: missing column caption;",
        "expected columns image (or jpg), caption, noun_chunks, ref_exps",
        "found columns key, image, text, noun_chunks, ref_exps, synsets",
    ];
    refused("a.parquet", |path| write_columns(path, columns, 10), &words);
}

#[test]
fn a_column_of_another_type_is_refused() {
    let mut columns = parquet_columns(&rows(0..2));
    columns[3].1 = Arc::clone(&columns[0].1);
    let words = ["column noun_chunks: expected a list of lists of floating-point numbers"];
    refused("a.parquet", |path| write_columns(path, columns, 10), &words);
}

#[test]
fn unknown_members_and_keys_are_refused_with_expected_and_found() {
    let tar = |members: [(&str, &[u8]); 2], words: &[&str]| {
        let members = members.map(|(name, bytes)| (name.to_owned(), bytes.to_vec()));
        refused(
            "a.tar",
            |path| fs::write(path, tar_of(&members)).unwrap(),
            words,
        );
    };
    tar([("1.mp3", &[1]), ("1.cls", &[2])], &["found 1.mp3, 1.cls"]);
    let lacking: [(&str, &[u8]); 2] = [("1.jpg", &[1]), ("1.json", b"{\"caption\":\"a\"}")];
    let words = [
        "the .json of 1 lacks noun_chunks, ref_exps",
        "found keys caption",
    ];
    tar(lacking, &words);
}

#[test]
fn shards_without_a_whole_record_are_refused() {
    for (name, content, words) in [
        ("a.parquet", "no parquet at all", "which begins with PAR1"),
        ("a.tar", "", "shard ends early: the file ends after 0 bytes"),
    ] {
        refused(name, |path| fs::write(path, content).unwrap(), &[words]);
    }
}

#[test]
fn a_small_file_that_claims_to_be_huge_is_refused_before_it_is_unpacked() {
    let mut rows = rows(0..96);
    for row in &mut rows {
        row.caption = "a".repeat(1 << 20);
    }
    let write = |path: &Path| {
        write_packed(path, parquet_columns(&rows));
        assert!(path.metadata().unwrap().len() < 1 << 20);
    };
    refused("bomb.parquet", write, &["row group 0: expected images"]);
    // What packs well and is small is no bomb.
    rows.truncate(8);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("small.parquet");
    write_packed(&path, parquet_columns(&rows));
    assert!(open(&[&path]).is_ok());
}

#[test]
fn a_parquet_file_on_which_the_library_would_panic_is_a_damaged_shard() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("damaged.parquet");
    let stored = "fuzz/corpus/shards/levels-shorter-than-rows.parquet";
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(stored), &path).unwrap();
    let broken = open(&[&path]).unwrap().load(0).err().unwrap();
    assert_eq!(broken.fault.cause, Cause::ShardDamaged);
    let detail = broken.fault.detail;
    let told = "page at byte 292: expected compressed_page_size";
    assert!(detail.starts_with(told), "{detail}");
}

#[test]
fn a_long_value_that_every_row_repeats_is_kept_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("repeated.parquet");
    let mut rows = rows(0..160);
    for row in &mut rows {
        // One value in the dictionary: a file below 1 MiB, 80 MiB if each row had a copy.
        row.image = vec![7; 1 << 19];
    }
    write_columns(&path, parquet_columns(&rows), rows.len());
    assert!(fs::metadata(&path).unwrap().len() < 1 << 20);
    let records = open(&[&path]).unwrap().load(0).unwrap();
    for row in [0, 159] {
        let record = records.read(row).unwrap();
        assert!(matches!(record.image, RecordImage::Encoded(bytes) if bytes == vec![7; 1 << 19]));
    }
}

/// Writes rows with a changed column, and returns why loading them is refused.
fn refusal_of(rows: &[Row], properties: WriterProperties) -> String {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("burst.parquet");
    write_with(&path, parquet_columns(rows), properties);
    assert!(fs::metadata(&path).unwrap().len() < 1 << 20);
    let broken = open(&[&path]).unwrap().load(0).err().unwrap();
    assert_eq!(broken.fault.cause, Cause::ShardDamaged);
    let detail = broken.fault.detail;
    assert!(detail.starts_with("page at byte "), "{detail}");
    detail
}

#[test]
fn a_small_file_that_repeats_an_entry_of_a_list_is_refused_before_it_is_unpacked() {
    let mut rows = rows(0..2);
    rows[1].noun_chunks = vec![vec![0.5; 10_000_000]];
    let detail = refusal_of(&rows, WriterProperties::builder().build());
    assert!(detail.contains("more entries in its row group"), "{detail}");
}

#[test]
fn a_small_file_whose_texts_share_a_long_beginning_is_refused_before_it_is_unpacked() {
    let mut rows = rows(0..2000);
    let beginning = "a".repeat(60_000);
    for (at, row) in rows.iter_mut().enumerate() {
        row.caption = format!("{beginning}{at}");
    }
    let caption = || ColumnPath::from("caption");
    let properties = WriterProperties::builder()
        .set_column_dictionary_enabled(caption(), false)
        .set_column_encoding(caption(), Encoding::DELTA_BYTE_ARRAY)
        .build();
    let detail = refusal_of(&rows, properties);
    assert!(detail.contains("more bytes after unpacking"), "{detail}");
}
