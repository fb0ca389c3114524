//! Parquet shards with GRIT's columns and embedded images (notation 5.1).

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, FieldRef, Schema};
use espalier_io::disk::content;
use espalier_io::storage::ShardFile;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::RowGroupMetaData;

use crate::formats::caption_texts::KEYS;
use crate::formats::parquet_chunks::Chunks;
use crate::formats::parquet_pages::{self as pages, Bounds, MAX_RATIO, SMALL_GROUP};
use crate::formats::parquet_records::{NamedColumns, ParquetRecords};
use crate::records::boxes::Boxes;
use crate::records::error::{DataError, Result};
use crate::records::fault::{Cause, Fault, panic_message};

/// Rows of one Arrow batch.
const BATCH_ROWS: usize = 512;
const MAGIC: &[u8; 4] = b"PAR1";

/// Reads the footer of a shard and checks its columns. Returns the rows and the uncompressed bytes of each row group; a
/// fault if the file is truncated or no parquet file.
///
/// # Errors
/// If the file cannot be opened, or lacks columns, or has columns of other types.
pub fn open(path: &Path, boxes: Boxes) -> Result<Result<Vec<(u32, u64)>, Fault>> {
    let part = |group: &RowGroupMetaData| {
        // No row group has fewer than none, see `implausible`.
        let rows = u32::try_from(group.num_rows()).unwrap_or(u32::MAX);
        (rows, u64::try_from(group.total_byte_size()).unwrap_or(0))
    };
    Ok(builder(path, boxes)?.and_then(|opened| {
        let groups = opened.builder.metadata().row_groups();
        match implausible(groups, opened.length) {
            Some(fault) => Err(fault),
            None => Ok(groups.iter().map(part).collect()),
        }
    }))
}

/// Returns a fault if a row group of a file of `length` bytes claims far more than it can contain:
/// images hardly get smaller by packing, so such a file would only fill the memory; and every record
/// takes some bytes.
fn implausible(groups: &[RowGroupMetaData], length: i64) -> Option<Fault> {
    let fault = |(at, group): (usize, &RowGroupMetaData)| {
        let unpacked = u64::try_from(group.total_byte_size()).unwrap_or(0);
        let packed = u64::try_from(group.compressed_size().min(length)).unwrap_or(0);
        let rows = group.num_rows();
        let detail = if unpacked > SMALL_GROUP && unpacked / MAX_RATIO > packed {
            format!("images, found {packed} bytes that claim to be {unpacked} after unpacking")
        } else if !(0..=length).contains(&rows) {
            format!("at most a record a byte, found {rows} records in {length} bytes")
        } else {
            return None;
        };
        Some(Fault::new(
            Cause::ShardDamaged,
            format!("row group {at}: expected {detail}"),
        ))
    };
    groups.iter().enumerate().find_map(fault)
}

/// Calls the library. It panics on some damaged files, for example on levels that are shorter than
/// their page claims, instead of returning an error; a damaged shard must not end a run.
fn contained<T>(call: impl FnOnce() -> T) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| {
        let detail = format!("the reader of parquet failed: {}", panic_message(&*panic));
        Fault::new(Cause::ShardDamaged, detail)
    })
}

/// Loads row group `part` as a whole. What its footer claims of its size may be wrong, so the headers of
/// its pages are checked before they are unpacked.
///
/// # Errors
/// The fault that breaks all its records.
pub fn load(path: &Path, part: u32, boxes: Boxes) -> Result<ParquetRecords, Fault> {
    contained(|| load_group(path, part, boxes))?
}

fn load_group(path: &Path, part: u32, boxes: Boxes) -> Result<ParquetRecords, Fault> {
    let opened = builder(path, boxes).map_err(|e| match e {
        DataError::Io { reason, .. } => Fault::of_reading(&reason),
        e => Fault::new(Cause::ShardDamaged, e.to_string()),
    })??;
    let (mask, ranges) = opened.needed(part);
    let Opened {
        builder,
        columns,
        file,
        length,
    } = opened;
    file.prefetch(&ranges).map_err(|e| Fault::of_reading(&e))?;
    let damaged = |e: &dyn std::fmt::Display| match file.failure() {
        Some(failure) => Fault::of_reading(&failure),
        None => Fault::new(Cause::ShardDamaged, e.to_string()),
    };
    let group = builder.metadata().row_groups().get(part as usize);
    let group = group.ok_or_else(|| damaged(&"it has fewer row groups than when it was opened"))?;
    let rows = usize::try_from(group.num_rows()).unwrap_or(0);
    pages::check(&file, &ranges, Bounds::of(length as u64)).map_err(|e| damaged(&e))?;
    let reader = builder
        .with_row_groups(vec![part as usize])
        .with_projection(mask)
        .with_batch_size(BATCH_ROWS)
        .build()
        .map_err(|e| damaged(&e))?;
    let batches: Vec<RecordBatch> = reader
        .collect::<std::result::Result<_, _>>()
        .map_err(|e| damaged(&e))?;
    ParquetRecords::new(&batches, columns, part, rows)
}

/// Fetches row group `part` of a shard that is in object storage.
///
/// # Errors
/// If storage fails; damaged shards are reported by [`load`].
pub fn prefetch(path: &Path, part: u32, boxes: Boxes) -> Result<()> {
    let Ok(opened) = builder(path, boxes)? else {
        return Ok(());
    };
    let (_, ranges) = opened.needed(part);
    opened.file.prefetch(&ranges).map_err(DataError::io(path))
}

type Builder = ParquetRecordBatchReaderBuilder<Chunks>;

/// A shard whose footer was read and whose columns were checked.
struct Opened {
    builder: Builder,
    columns: NamedColumns,
    file: Arc<ShardFile>,
    /// Of the file, in bytes.
    length: i64,
}

impl Opened {
    /// Returns the columns to read, and the ranges of their bytes in row group `part`; neighbouring
    /// ranges are merged.
    fn needed(&self, part: u32) -> (ProjectionMask, Vec<Range<u64>>) {
        let mask = ProjectionMask::columns(
            self.builder.parquet_schema(),
            projected(self.builder.schema(), self.columns),
        );
        let mut ranges: Vec<Range<u64>> = Vec::new();
        if let Some(group) = self.builder.metadata().row_groups().get(part as usize) {
            let columns = group.columns().iter().enumerate();
            for (_, column) in columns.filter(|(leaf, _)| mask.leaf_included(*leaf)) {
                let (start, len) = column.byte_range();
                match ranges.last_mut() {
                    Some(last) if last.end == start => last.end = last.end.saturating_add(len),
                    _ => ranges.push(start..start.saturating_add(len)),
                }
            }
        }
        (mask, ranges)
    }
}

/// Creates the reader of a shard with its checked columns; a fault if the file is not a complete
/// shard.
fn builder(path: &Path, boxes: Boxes) -> Result<Result<Opened, Fault>> {
    let file = ShardFile::open(path).map_err(DataError::io(path))?;
    let length = file.size().map_err(DataError::io(path))?;
    if let Some(fault) = check_ends(&file, length).map_err(DataError::io(path))? {
        return Ok(Err(fault));
    }
    // Use the types as stored. Otherwise an Arrow schema in the footer could select any of Arrow's
    // many representations of the same list or text.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let chunks = Chunks {
        file: Arc::clone(&file),
        len: length,
    };
    let metadata = contained(|| {
        let stored = ArrowReaderMetadata::load(&chunks, options)?;
        let schema = Arc::new(with_views(stored.schema()));
        let options = ArrowReaderOptions::new().with_schema(schema);
        ArrowReaderMetadata::try_new(Arc::clone(stored.metadata()), options)
    });
    let builder = match metadata {
        Ok(Ok(metadata)) => Builder::new_with_metadata(chunks, metadata),
        Ok(Err(e)) => match file.failure() {
            Some(failure) => return Err(DataError::io(path)(failure)),
            None => return Ok(Err(Fault::new(Cause::ShardDamaged, e.to_string()))),
        },
        Err(fault) => return Ok(Err(fault)),
    };
    let columns = check_columns(path, builder.schema(), boxes)?;
    Ok(Ok(Opened {
        builder,
        columns,
        file,
        length: length as i64,
    }))
}

/// Returns the schema with texts and bytes as views into the pages that contain them: an entry that
/// many rows repeat takes its bytes once.
fn with_views(schema: &Schema) -> Schema {
    let fields: Vec<FieldRef> = schema.fields().iter().map(field_with_views).collect();
    Schema::new(fields)
}

fn field_with_views(field: &FieldRef) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Utf8 => DataType::Utf8View,
        DataType::Binary => DataType::BinaryView,
        DataType::List(item) => DataType::List(field_with_views(item)),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(field_with_views).collect()),
        other => other.clone(),
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

/// Checks both ends of the file: a parquet file begins and ends with the same four bytes.
fn check_ends(file: &ShardFile, len: u64) -> std::io::Result<Option<Fault>> {
    if len < 12 {
        let detail = format!("the file has {len} bytes");
        return Ok(Some(Fault::new(Cause::ShardEndsEarly, detail)));
    }
    let mut ends = [[0_u8; 4]; 2];
    file.read_exact_at(&mut ends[0], 0)?;
    file.read_exact_at(&mut ends[1], len - 4)?;
    Ok(if ends[0] != *MAGIC {
        let mut head = vec![0; len.min(content::HEAD as u64) as usize];
        file.read_exact_at(&mut head, 0)?;
        let found = content::describe(&head);
        let detail = format!("expected a parquet file, which begins with PAR1, {found}");
        Some(Fault::new(Cause::ShardDamaged, detail))
    } else if ends[1] != *MAGIC {
        let detail = format!("the file ends after {len} bytes, without a footer");
        Some(Fault::new(Cause::ShardEndsEarly, detail))
    } else {
        None
    })
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8View | DataType::BinaryView)
}

/// Returns the type of the items of a list.
fn item(data_type: &DataType) -> Option<&DataType> {
    match data_type {
        DataType::List(field) => Some(field.data_type()),
        _ => None,
    }
}

fn is_list_of_texts(data_type: &DataType) -> bool {
    item(data_type).is_some_and(is_text)
}

fn is_boxes(data_type: &DataType) -> bool {
    let number = item(data_type).and_then(item);
    matches!(number, Some(DataType::Float64 | DataType::Float32))
}

/// Returns the type of a column, if the schema has it.
fn column<'a>(schema: &'a Schema, name: &str) -> Option<&'a DataType> {
    schema
        .field_with_name(name)
        .ok()
        .map(arrow_schema::Field::data_type)
}

/// Checks that the required columns exist with readable types. `key` and `synsets` may be absent, and so
/// may boxes that are optional; other columns are not read.
fn check_columns(path: &Path, schema: &Schema, boxes: Boxes) -> Result<NamedColumns> {
    check_presence(path, schema, boxes)?;
    let captions = KEYS.into_iter().find(|name| column(schema, name).is_some());
    // The check of presence excludes that there is none.
    let caption = captions.unwrap_or(KEYS[0]);
    check_types(path, schema, caption)?;
    let image = image_column(path, schema)?;
    Ok(NamedColumns { image, caption })
}

fn check_presence(path: &Path, schema: &Schema, boxes: Boxes) -> Result<()> {
    const IMAGE: (&str, &[&str]) = ("image (or jpg)", &["image", "jpg"]);
    let required: &[(&str, &[&str])] = match boxes {
        Boxes::Required => &[
            IMAGE,
            ("caption", &["caption"]),
            ("noun_chunks", &["noun_chunks"]),
            ("ref_exps", &["ref_exps"]),
        ],
        Boxes::Optional => &[IMAGE, ("caption (or captions, text, texts, txt)", &KEYS)],
    };
    let is_missing = |names: &[&str]| names.iter().all(|name| column(schema, name).is_none());
    let missing: Vec<&str> = required
        .iter()
        .filter(|(_, names)| is_missing(names))
        .map(|(_, names)| names[0])
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let fields = schema.fields().iter();
    let found: Vec<&str> = fields.map(|field| field.name().as_str()).collect();
    if missing == ["image"] && found.iter().any(|name| name.eq_ignore_ascii_case("url")) {
        return Err(DataError::Layout {
            place: path.display().to_string(),
            expected: "a column image (or jpg) with the bytes of the images".into(),
            found: format!(
                "addresses of images only, in columns {}; download them first, for example with img2dataset",
                found.join(", ")
            ),
        });
    }
    let lack = format!("missing column {}", missing.join(", "));
    let expected: Vec<&str> = required.iter().map(|(shown, _)| *shown).collect();
    Err(DataError::lacking(path, lack, "columns", &expected, &found))
}

fn wrong_type(path: &Path, name: &str, expected: &str, found: &DataType) -> DataError {
    let reason = format!("column {name}: expected {expected}, found {found}");
    DataError::unusable(path, reason)
}

/// Checks the types of all columns but the image's.
fn check_types(path: &Path, schema: &Schema, caption: &str) -> Result<()> {
    let check =
        |name: &str, expected: &str, fits: &dyn Fn(&DataType) -> bool| match column(schema, name) {
            Some(data_type) if !fits(data_type) => Err(wrong_type(path, name, expected, data_type)),
            _ => Ok(()),
        };
    check(caption, "text, or a list of texts", &|t| {
        is_text(t) || is_list_of_texts(t)
    })?;
    for name in ["noun_chunks", "ref_exps"] {
        check(name, "a list of lists of floating-point numbers", &is_boxes)?;
    }
    check("key", "text or a number", &|t| is_text(t) || t.is_numeric())?;
    check("width", "a number", &DataType::is_numeric)?;
    check("height", "a number", &DataType::is_numeric)?;
    check("synsets", "a list of texts", &is_list_of_texts)
}

/// Returns the dotted path of the image's column after checking its type.
fn image_column(path: &Path, schema: &Schema) -> Result<&'static str> {
    let mut names = ["image", "jpg"].into_iter();
    let found = names.find_map(|name| Some((name, column(schema, name)?)));
    // The check of presence excludes that there is none.
    let (name, data_type) = found.unwrap_or(("image", &DataType::Null));
    let is_bytes =
        |field: &FieldRef| field.name() == "bytes" && *field.data_type() == DataType::BinaryView;
    match data_type {
        DataType::BinaryView => Ok(name),
        DataType::Struct(fields) if name == "image" && fields.iter().any(is_bytes) => {
            Ok("image.bytes")
        }
        other => {
            let expected = "binary, or a struct with binary bytes";
            Err(wrong_type(path, name, expected, other))
        }
    }
}

/// Returns the columns to read, as parquet's dotted paths.
fn projected(schema: &Schema, columns: NamedColumns) -> Vec<&'static str> {
    let has = |name: &&str| schema.field_with_name(name).is_ok();
    let sizes = ["width", "height"]
        .into_iter()
        .filter(|_| has(&"noun_chunks") || has(&"ref_exps"));
    ["key", columns.caption, "noun_chunks", "ref_exps", "synsets"]
        .into_iter()
        .chain(sizes)
        .filter(has)
        .chain([columns.image])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_library_is_a_damaged_shard() {
        let fault = contained(|| -> u8 { panic!("levels are too short") });
        let fault = fault.unwrap_err();
        assert_eq!(fault.cause, Cause::ShardDamaged);
        assert_eq!(
            fault.detail,
            "the reader of parquet failed: levels are too short"
        );
        assert_eq!(contained(|| 7), Ok(7));
    }
}
