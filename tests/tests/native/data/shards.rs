//! Generated shards in all three formats.

use std::fs::File;
use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, BinaryArray, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field, Schema};
use image::{ImageFormat, Rgb, RgbImage};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

/// One record as it is stored.
#[derive(Clone, Debug)]
pub struct Row {
    pub key: String,
    pub image: Vec<u8>,
    pub caption: String,
    pub noun_chunks: Vec<Vec<f64>>,
    pub ref_exps: Vec<Vec<f64>>,
    pub synsets: Vec<String>,
}

/// Draws an image whose left half is red and right half blue, in a shade that depends on its
/// number.
pub fn image(number: usize) -> RgbImage {
    let shade = (number * 7 % 200) as u8;
    RgbImage::from_fn(96, 80, |x, _| match x {
        ..48 => Rgb([230, shade, 20]),
        _ => Rgb([20, shade, 230]),
    })
}

pub fn png(image: &RgbImage) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, ImageFormat::Png).unwrap();
    bytes.into_inner()
}

/// Returns record `number`: "a red half and a blue half", with a box for each half and its own key.
pub fn row(number: usize) -> Row {
    Row {
        key: format!("{number:06}"),
        image: png(&image(number)),
        caption: format!("a red half and a blue half {number}"),
        noun_chunks: vec![
            vec![2.0, 10.0, 0.0, 0.0, 0.5, 1.0, 0.9],
            vec![17.0, 26.0, 0.5, 0.0, 1.0, 1.0, 0.8],
        ],
        ref_exps: vec![vec![0.0, 10.0, 0.0, 0.0, 0.5, 1.0, 0.9]],
        synsets: vec!["red_half".into(), "blue_half".into()],
    }
}

pub fn rows(numbers: std::ops::Range<usize>) -> Vec<Row> {
    numbers.map(row).collect()
}

fn nested<'a>(lists: impl Iterator<Item = &'a Vec<Vec<f64>>>) -> ArrayRef {
    let mut builder = ListBuilder::new(ListBuilder::new(Float64Builder::new()));
    for list in lists {
        for numbers in list {
            builder.values().values().append_slice(numbers);
            builder.values().append(true);
        }
        builder.append(true);
    }
    Arc::new(builder.finish())
}

/// Writes rows as parquet with GRIT's columns, the image as `image {bytes, path}`.
pub fn write_parquet(path: &Path, rows: &[Row], rows_per_group: usize) {
    write_columns(path, parquet_columns(rows), rows_per_group);
}

/// Returns the columns of GRIT for some rows.
pub fn parquet_columns(rows: &[Row]) -> Vec<(&'static str, ArrayRef)> {
    let texts = |f: fn(&Row) -> &str| -> ArrayRef {
        Arc::new(rows.iter().map(|row| Some(f(row))).collect::<StringArray>())
    };
    let bytes = rows.iter().map(|row| Some(row.image.as_slice()));
    let bytes: ArrayRef = Arc::new(bytes.collect::<BinaryArray>());
    let field = |name, kind| Arc::new(Field::new(name, kind, true));
    let image = StructArray::from(vec![
        (field("bytes", DataType::Binary), bytes),
        (field("path", DataType::Utf8), texts(|row| &row.key)),
    ]);
    let mut synsets = ListBuilder::new(StringBuilder::new());
    for row in rows {
        for synset in &row.synsets {
            synsets.values().append_value(synset);
        }
        synsets.append(true);
    }
    vec![
        ("key", texts(|row| &row.key)),
        ("image", Arc::new(image)),
        ("caption", texts(|row| &row.caption)),
        (
            "noun_chunks",
            nested(rows.iter().map(|row| &row.noun_chunks)),
        ),
        ("ref_exps", nested(rows.iter().map(|row| &row.ref_exps))),
        ("synsets", Arc::new(synsets.finish())),
    ]
}

pub fn write_columns(path: &Path, columns: Vec<(&str, ArrayRef)>, rows_per_group: usize) {
    let properties = WriterProperties::builder();
    let properties = properties.set_max_row_group_row_count(Some(rows_per_group));
    write_with(path, columns, properties.build());
}

/// Writes columns in one row group that is packed as far as zstd can.
pub fn write_packed(path: &Path, columns: Vec<(&str, ArrayRef)>) {
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_compression(Compression::ZSTD(ZstdLevel::default()));
    write_with(path, columns, properties.build());
}

/// Writes columns as a writer with these properties does.
pub fn write_with(path: &Path, columns: Vec<(&str, ArrayRef)>, properties: WriterProperties) {
    let field =
        |(name, array): &(&str, ArrayRef)| Field::new(*name, array.data_type().clone(), true);
    let fields: Vec<Field> = columns.iter().map(field).collect();
    let schema = Arc::new(Schema::new(fields));
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays);
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, schema, Some(properties)).unwrap();
    writer.write(&batch.unwrap()).unwrap();
    writer.close().unwrap();
}

/// Returns the bytes of a tar with these members.
pub fn tar_of(members: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        let added = builder.append_data(&mut header, name, bytes.as_slice());
        added.unwrap();
    }
    builder.into_inner().unwrap()
}

/// Returns the members that img2dataset writes for a row.
pub fn raw_members(row: &Row) -> Vec<(String, Vec<u8>)> {
    let json = serde_json::json!({
        "caption": row.caption, "noun_chunks": row.noun_chunks, "ref_exps": row.ref_exps,
        "synsets": row.synsets, "key": row.key, "status": "success", "url": "none",
    });
    vec![
        (format!("{}.png", row.key), row.image.clone()),
        (format!("{}.json", row.key), json.to_string().into_bytes()),
        (format!("{}.txt", row.key), row.caption.clone().into_bytes()),
    ]
}

pub fn raw_tar(rows: &[Row]) -> Vec<u8> {
    tar_of(&rows.iter().flat_map(raw_members).collect::<Vec<_>>())
}
