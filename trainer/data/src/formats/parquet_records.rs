//! The records of a loaded row group.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ListArray, RecordBatch};
use arrow_schema::DataType;

use crate::records::boxes::Entry;
use crate::records::fault::{Broken, Cause, Fault};
use crate::records::record_image::RecordImage;
use crate::records::source::{Record, Records};

/// The columns of a shard whose names differ between shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedColumns {
    /// The image: a binary column, or `image.bytes`, the field of a struct.
    pub image: &'static str,
    /// Name of the column of captions: a text or a list of texts each.
    pub caption: &'static str,
}

/// The columns of one Arrow batch.
struct Columns {
    key: Option<ArrayRef>,
    image: ArrayRef,
    caption: ArrayRef,
    noun_chunks: Option<ArrayRef>,
    ref_exps: Option<ArrayRef>,
    synsets: Option<ArrayRef>,
    /// Width and height of the image.
    sides: [Option<ArrayRef>; 2],
}

/// A row group in memory.
pub struct ParquetRecords {
    batches: Vec<Columns>,
    /// Number of rows before each batch, and their total.
    starts: Vec<usize>,
    part: u32,
}

impl ParquetRecords {
    /// Wraps the batches of row group `part`, which has `rows` rows by its footer.
    ///
    /// # Errors
    /// If a column that was checked when the shard was opened is missing, or the number of rows
    /// differs.
    pub(crate) fn new(
        batches: &[RecordBatch],
        named: NamedColumns,
        part: u32,
        rows: usize,
    ) -> Result<Self, Fault> {
        let mut starts = vec![0];
        let mut columns = Vec::with_capacity(batches.len());
        for batch in batches {
            starts.push(starts[starts.len() - 1] + batch.num_rows());
            columns.push(Columns::of(batch, named)?);
        }
        let found = starts[starts.len() - 1];
        if found != rows {
            let detail = format!("expected {rows} rows as its footer states, found {found}");
            return Err(Fault::new(Cause::ShardDamaged, detail));
        }
        Ok(Self {
            batches: columns,
            starts,
            part,
        })
    }
}

impl Columns {
    fn of(batch: &RecordBatch, named: NamedColumns) -> Result<Self, Fault> {
        let found = |name: &str, column: Option<&ArrayRef>| {
            let detail = || format!("column {name} disappeared after the shard was opened");
            let column = column.cloned();
            column.ok_or_else(|| Fault::new(Cause::ShardDamaged, detail()))
        };
        let column = |name: &str| found(name, batch.column_by_name(name));
        let image = match named.image.split_once('.') {
            None => column(named.image)?,
            Some((name, field)) => {
                let image = column(name)?;
                let fields = image.as_struct_opt();
                found(named.image, fields.and_then(|s| s.column_by_name(field)))?
            }
        };
        Ok(Self {
            key: batch.column_by_name("key").cloned(),
            image,
            caption: column(named.caption)?,
            noun_chunks: batch.column_by_name("noun_chunks").cloned(),
            ref_exps: batch.column_by_name("ref_exps").cloned(),
            synsets: batch.column_by_name("synsets").cloned(),
            sides: ["width", "height"].map(|name| batch.column_by_name(name).cloned()),
        })
    }

    fn key(&self, row: usize) -> Option<String> {
        let key = self.key.as_ref().filter(|key| key.is_valid(row))?;
        number(key, row).or_else(|| text(key, row).ok().flatten().map(String::from))
    }

    /// Returns the size that a row states for its image.
    fn listed_size(&self, row: usize) -> Option<(f64, f64)> {
        let [width, height] = &self.sides;
        let side = |column: &Option<ArrayRef>| number(column.as_ref()?, row)?.parse().ok();
        Some((side(width)?, side(height)?))
    }

    fn read(&self, row: usize, key: String) -> Result<Record, Fault> {
        let bytes = match self.image.as_binary_view_opt() {
            Some(images) if images.is_valid(row) => images.value(row),
            _ => return Err(Fault::new(Cause::MissingImage, "image is null")),
        };
        let image = RecordImage::Encoded(bytes.to_vec());
        let captions = match list(&self.caption, row) {
            Some(items) => texts(&items)?,
            None => {
                let caption = text(&self.caption, row)?;
                let missing = || Fault::new(Cause::MissingCaption, "caption is null");
                vec![caption.ok_or_else(missing)?.to_owned()]
            }
        };
        let record = Record::captioned(key, image, captions)?;
        let synsets = match self.synsets.as_ref().and_then(|column| list(column, row)) {
            Some(items) => texts(&items)?,
            None => Vec::new(),
        };
        let entries = |column: &Option<ArrayRef>| match column {
            Some(column) => entries(column, row),
            None => Vec::new(),
        };
        record.with_boxes(
            &entries(&self.noun_chunks),
            &entries(&self.ref_exps),
            synsets,
            self.listed_size(row),
        )
    }
}

impl Records for ParquetRecords {
    fn read(&self, row: usize) -> Result<Record, Broken> {
        let batch = self.starts.partition_point(|&start| start <= row) - 1;
        let Some(columns) = self.batches.get(batch) else {
            let detail = "the row group has fewer rows than its footer states";
            return Err(Fault::new(Cause::ShardDamaged, detail).of(row.to_string()));
        };
        let local_row = row - self.starts[batch];
        let key = columns
            .key(local_row)
            .unwrap_or_else(|| format!("{}:{row}", self.part));
        columns
            .read(local_row, key.clone())
            .map_err(|fault| fault.of(key))
    }
}

/// Returns the number in a row as text; `None` for null and for columns of another type.
fn number(column: &ArrayRef, row: usize) -> Option<String> {
    fn value<T: ArrowPrimitiveType>(column: &ArrayRef, row: usize) -> Option<String>
    where
        T::Native: ToString,
    {
        let column = column.as_primitive_opt::<T>()?;
        column.is_valid(row).then(|| column.value(row).to_string())
    }
    match column.data_type() {
        DataType::Int8 => value::<Int8Type>(column, row),
        DataType::Int16 => value::<Int16Type>(column, row),
        DataType::Int32 => value::<Int32Type>(column, row),
        DataType::Int64 => value::<Int64Type>(column, row),
        DataType::UInt8 => value::<UInt8Type>(column, row),
        DataType::UInt16 => value::<UInt16Type>(column, row),
        DataType::UInt32 => value::<UInt32Type>(column, row),
        DataType::UInt64 => value::<UInt64Type>(column, row),
        DataType::Float32 => value::<Float32Type>(column, row),
        DataType::Float64 => value::<Float64Type>(column, row),
        _ => None,
    }
}

/// Returns the text in a row; `None` for null.
fn text(column: &ArrayRef, row: usize) -> Result<Option<&str>, Fault> {
    if column.is_null(row) {
        return Ok(None);
    }
    if let Some(texts) = column.as_string_view_opt() {
        return Ok(Some(texts.value(row)));
    }
    match column.as_binary_view_opt() {
        Some(bytes) => std::str::from_utf8(bytes.value(row))
            .map(Some)
            .map_err(|e| Fault::new(Cause::UnreadableText, e.to_string())),
        None => Ok(None),
    }
}

/// Returns all texts of a list; a null one is blank.
fn texts(items: &ArrayRef) -> Result<Vec<String>, Fault> {
    let texts = (0..items.len()).map(|at| Ok(text(items, at)?.unwrap_or_default().to_owned()));
    texts.collect()
}

/// Returns the list in a row; `None` for null.
fn list(column: &dyn Array, row: usize) -> Option<ArrayRef> {
    let lists: &ListArray = column.as_list_opt()?;
    lists.is_valid(row).then(|| lists.value(row))
}

/// Returns the entries in a row; a null list becomes empty, a null number becomes NaN.
fn entries(column: &ArrayRef, row: usize) -> Vec<Entry> {
    let Some(lists) = list(column, row) else {
        return Vec::new();
    };
    let entry = |at: usize| {
        let Some(numbers) = list(&lists, at) else {
            return Entry::new();
        };
        if let Some(doubles) = numbers.as_primitive_opt::<Float64Type>() {
            return doubles.iter().map(|v| v.unwrap_or(f64::NAN)).collect();
        }
        let floats = numbers.as_primitive_opt::<Float32Type>();
        let floats = floats.into_iter().flatten();
        floats.map(|v| v.map_or(f64::NAN, f64::from)).collect()
    };
    (0..lists.len()).map(entry).collect()
}
