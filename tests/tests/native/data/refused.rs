//! Unusable shards are refused when they are opened, with what was expected and what was found.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::data::shards::{
    Row, parquet_columns, rows, tar_of, write_columns, write_packed, write_with,
};
use crate::data::support::error_of;
use espalier_trainer::data::records::record_image::RecordImage;
use espalier_trainer::data::{Cause, Dataset};
use parquet::basic::Encoding;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;

#[test]
fn a_renamed_column_is_refused_with_expected_and_found() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.parquet");
    let mut columns = parquet_columns(&rows(0..2));
    columns[2].0 = "text";
    write_columns(&path, columns, 10);
    let error = error_of(&path);
    assert_eq!(error.exit_code(), 2);
    let message = error.to_string();
    assert!(
        message.contains("a.parquet: missing column caption;"),
        "{message}"
    );
    assert!(
        message.contains("expected columns image (or jpg), caption, noun_chunks, ref_exps"),
        "{message}"
    );
    assert!(
        message.ends_with("found columns key, image, text, noun_chunks, ref_exps, synsets"),
        "{message}"
    );
}

#[test]
fn a_column_of_another_type_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.parquet");
    let mut columns = parquet_columns(&rows(0..2));
    columns[3].1 = Arc::clone(&columns[0].1);
    write_columns(&path, columns, 10);
    let message = error_of(&path).to_string();
    assert!(
        message.contains("column noun_chunks: expected a list of lists of floating-point numbers"),
        "{message}"
    );
}

#[test]
fn unknown_members_and_keys_are_refused_with_expected_and_found() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.tar");
    fs::write(
        &path,
        tar_of(&[("1.mp3".into(), vec![1]), ("1.cls".into(), vec![2])]),
    )
    .unwrap();
    let error = error_of(&path);
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().ends_with("found 1.mp3, 1.cls"), "{error}");

    let members = [
        ("1.jpg".into(), vec![1]),
        ("1.json".into(), b"{\"caption\":\"a\"}".to_vec()),
    ];
    fs::write(&path, tar_of(&members)).unwrap();
    let message = error_of(&path).to_string();
    assert!(
        message.contains("the .json of 1 lacks noun_chunks, ref_exps"),
        "{message}"
    );
    assert!(message.ends_with("found keys caption"), "{message}");
}

#[test]
fn shards_without_a_whole_record_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("a.parquet"), "no parquet at all").unwrap();
    let message = error_of(&at("a.parquet")).to_string();
    assert!(message.contains("which begins with PAR1"), "{message}");
    fs::write(at("a.tar"), "").unwrap();
    let message = error_of(&at("a.tar")).to_string();
    assert!(
        message.contains("shard ends early: the file ends after 0 bytes"),
        "{message}"
    );
}

#[test]
fn a_small_file_that_claims_to_be_huge_is_refused_before_it_is_unpacked() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bomb.parquet");
    let mut rows = rows(0..96);
    for row in &mut rows {
        row.caption = "a".repeat(1 << 20);
    }
    write_packed(&path, parquet_columns(&rows));
    assert!(fs::metadata(&path).unwrap().len() < 1 << 20);
    let message = error_of(&path).to_string();
    assert!(
        message.contains("row group 0: expected images"),
        "{message}"
    );
    // What packs well and is small is no bomb.
    rows.truncate(8);
    write_packed(&path, parquet_columns(&rows));
    assert!(crate::data::support::open(&[&path]).is_ok());
}

#[test]
fn a_parquet_file_on_which_the_library_would_panic_is_a_damaged_shard() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("damaged.parquet");
    let stored = "fuzz/corpus/shards/levels-shorter-than-rows.parquet";
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(stored), &path).unwrap();
    let broken = crate::data::support::open(&[&path])
        .unwrap()
        .load(0)
        .err()
        .unwrap();
    assert_eq!(broken.fault.cause, Cause::ShardDamaged);
    let detail = &broken.fault.detail;
    assert!(
        detail.starts_with("page at byte 292: expected compressed_page_size"),
        "{detail}"
    );
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
    let data = crate::data::support::open(&[&path]).unwrap();
    let records = data.load(0).unwrap();
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
    let data = crate::data::support::open(&[&path]).unwrap();
    let broken = data.load(0).err().unwrap();
    assert_eq!(broken.fault.cause, Cause::ShardDamaged);
    assert!(
        broken.fault.detail.starts_with("page at byte "),
        "{}",
        broken.fault.detail
    );
    broken.fault.detail
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
