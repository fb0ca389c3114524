//! The three forms of shards hold the same samples.

use std::fs;
use std::sync::Arc;

use espalier_trainer::data::records::boxes::Region;
use espalier_trainer::data::records::source::{Dataset, Record};
use espalier_trainer::data::tools::prepare::prepare;

use crate::data::shards::{image, parquet_columns, raw_tar, rows, write_columns, write_parquet};
use crate::data::support::{first, open, read_all, spec};

/// Returns the key, the caption and the phrases of a record.
fn content(record: &Record) -> (String, String, Vec<String>) {
    let phrases = record.boxes.iter().map(|found| found.phrase.clone());
    let (key, caption) = (record.key.clone(), record.caption.clone());
    (key, caption, phrases.collect())
}

#[test]
fn all_three_forms_give_the_same_samples() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let rows = rows(0..7);
    write_parquet(&at("a.parquet"), &rows, 3);
    fs::write(at("b.tar"), raw_tar(&rows)).unwrap();
    let parquet = open(&[&at("a.parquet")]).unwrap();
    let raw = open(&[&at("b.tar")]).unwrap();
    prepare(&parquet, &at("prepared"), &|_| ()).unwrap();
    let prepared = open(&[&at("prepared")]).unwrap();

    let sets = [&parquet, &raw, &prepared].map(|data| {
        let records = read_all(data).into_iter().map(Result::unwrap);
        records.collect::<Vec<Record>>()
    });
    let [wanted, others @ ..] = sets
        .each_ref()
        .map(|set| set.iter().map(content).collect::<Vec<_>>());
    assert_eq!(wanted[3].1, "a red half and a blue half 3");
    assert_eq!(wanted[3].2, ["red half", "blue half", "a red half"]);
    for found in others {
        assert_eq!(found, wanted);
    }
    for (a, b) in sets[0].iter().zip(&sets[1]) {
        assert_eq!(a.image.decode().unwrap(), b.image.decode().unwrap());
        assert_eq!(a.synsets, b.synsets);
    }
    // The first crop of a prepared record is the red half, centred on white.
    let Region::Crop(crop) = &sets[2][3].boxes[0].region else {
        panic!("expected a crop")
    };
    let crop = crop.decode().unwrap();
    assert_eq!(crop.dimensions(), (224, 224));
    let near = |x: u32, y: u32, wanted: [u8; 3]| {
        let found = crop.get_pixel(x, y).0;
        found.iter().zip(wanted).all(|(a, b)| a.abs_diff(b) < 12)
    };
    assert!(near(112, 112, image(3).get_pixel(2, 2).0) && near(4, 112, [255; 3]));
}

#[test]
fn a_batch_is_the_same_from_parquet_and_from_tar() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let rows = rows(0..12);
    write_parquet(&at("a.parquet"), &rows, 12);
    fs::write(at("a.tar"), raw_tar(&rows)).unwrap();
    let batch = |name: &str| {
        let data: Arc<dyn Dataset> = Arc::new(open(&[&at(name)]).unwrap());
        first(&data, spec(8), 1).remove(0)
    };
    let (a, b) = (batch("a.parquet"), batch("a.tar"));
    assert_eq!(
        (a.keys, a.images, a.captions, a.content),
        (b.keys, b.images, b.captions, b.content)
    );
}

#[test]
fn a_plain_binary_column_is_an_image_too() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.parquet");
    for name in ["image", "jpg"] {
        let rows = rows(0..2);
        let mut columns = parquet_columns(&rows);
        let images = rows.iter().map(|row| Some(row.image.as_slice()));
        columns[1] = (name, Arc::new(images.collect::<arrow_array::BinaryArray>()));
        write_columns(&path, columns, 10);
        let records = read_all(&open(&[&path]).unwrap());
        let second = records[1].as_ref().unwrap();
        assert_eq!(second.image.decode().unwrap(), image(1));
    }
}
