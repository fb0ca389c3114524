//! Checks the page headers of a parquet column before the library unpacks the pages.
//!
//! A page of a few bytes can claim 2 GiB after unpacking, or repeat one entry of a list millions of
//! times. The reader obeys a page as a whole, so its header must be checked before.

use std::io::{BufReader, Seek, SeekFrom};
use std::ops::Range;
use std::sync::Arc;

use espalier_io::storage::{ShardFile, ShardReader};
use thrift::protocol::{TCompactInputProtocol, TInputProtocol, TType};

/// Largest ratio of unpacked to packed bytes.
pub(crate) const MAX_RATIO: u64 = 64;
/// Unpacked bytes of a row group up to which the ratio does not matter.
pub(crate) const SMALL_GROUP: u64 = 64 << 20;
/// Entries of a row group up to which the size of the file does not matter.
const FEW_ENTRIES: u64 = 1 << 20;
/// Entries, in all columns, for each byte of a file. Repeated entries take less than a bit each, but a
/// record of GRIT has an image and a few boxes.
const ENTRIES_PER_BYTE: u64 = 8;
/// Bytes that are read of a header at once; headers with statistics are longer.
const HEADER_BYTES: usize = 512;
/// `DELTA_BYTE_ARRAY`: a text is stored as what it shares with the one before, and the rest.
const SHARED_BEGINNINGS: i32 = 7;

/// What the pages of a row group contain at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    bytes: u64,
    entries: u64,
}

impl Bounds {
    /// Returns the bounds of a file of `length` bytes.
    pub(crate) fn of(length: u64) -> Self {
        Self {
            bytes: SMALL_GROUP.max(length.saturating_mul(MAX_RATIO)),
            entries: FEW_ENTRIES.saturating_add(length.saturating_mul(ENTRIES_PER_BYTE)),
        }
    }

    /// Takes what a page contains from what is left.
    fn take(&mut self, page: &Page) -> Result<(), String> {
        let claim = |what, left, found| {
            format!("expected at most {left} more {what} in its row group, found {found}")
        };
        let texts = match page.encoding {
            // Each text can be as long as the page.
            Some(SHARED_BEGINNINGS) => page.entries.saturating_mul(page.unpacked),
            _ => page.unpacked,
        };
        self.bytes = self
            .bytes
            .checked_sub(texts)
            .ok_or_else(|| claim("bytes after unpacking", self.bytes, texts))?;
        self.entries = self
            .entries
            .checked_sub(page.entries)
            .ok_or_else(|| claim("entries", self.entries, page.entries))?;
        Ok(())
    }
}

/// Checks the headers of all pages in `columns`, ranges of bytes of a row group.
///
/// # Errors
/// What is wrong, with the place of the page; a failure to read.
pub(crate) fn check(
    file: &Arc<ShardFile>,
    columns: &[Range<u64>],
    mut bounds: Bounds,
) -> Result<(), String> {
    for column in columns {
        let reader = ShardReader::new(Arc::clone(file), column.start);
        let mut reader = BufReader::with_capacity(HEADER_BYTES, reader);
        let mut at = column.start;
        while at < column.end {
            let wrong = |reason: String| format!("page at byte {at}: {reason}");
            let page = Page::read(&mut reader).map_err(wrong)?;
            let start = reader.stream_position().map_err(|e| wrong(e.to_string()))?;
            let end = start.saturating_add(page.packed);
            if end > column.end {
                let (found, left) = (page.packed, column.end.saturating_sub(start));
                return Err(wrong(format!(
                    "expected at most the {left} bytes left of its column, found {found}"
                )));
            }
            bounds.take(&page).map_err(wrong)?;
            reader
                .seek(SeekFrom::Start(end))
                .map_err(|e| wrong(e.to_string()))?;
            at = end;
        }
    }
    Ok(())
}

/// What a header says of its page.
#[derive(Clone, Copy, Debug, Default)]
struct Page {
    /// Bytes in the file.
    packed: u64,
    /// Bytes after unpacking.
    unpacked: u64,
    /// Values and nulls.
    entries: u64,
    encoding: Option<i32>,
}

impl Page {
    /// Reads a `PageHeader` in Thrift's compact encoding (parquet-format, `parquet.thrift`).
    fn read(reader: &mut BufReader<ShardReader>) -> Result<Self, String> {
        let mut header = TCompactInputProtocol::new(reader);
        let [mut unpacked, mut packed, mut entries, mut encoding] = [None; 4];
        fields(&mut header, |header, id, kind| {
            match (id, kind) {
                (2, TType::I32) => once(&mut unpacked, header.read_i32())?,
                (3, TType::I32) => once(&mut packed, header.read_i32())?,
                // The headers of the page's kind: data, dictionary, data of version 2.
                (5 | 7 | 8, TType::Struct) => {
                    let encoding_id = if id == 8 { 4 } else { 2 };
                    fields(header, |header, id, kind| {
                        match (id, kind) {
                            (1, TType::I32) => once(&mut entries, header.read_i32())?,
                            (id, TType::I32) if id == encoding_id => {
                                once(&mut encoding, header.read_i32())?;
                            }
                            _ => header.skip(kind).map_err(|e| e.to_string())?,
                        }
                        Ok(())
                    })?;
                }
                _ => header.skip(kind).map_err(|e| e.to_string())?,
            }
            Ok(())
        })?;
        let count = |value: Option<i32>, name| match value.map(u64::try_from) {
            Some(Ok(count)) => Ok(count),
            Some(Err(_)) => Err(format!("expected no negative {name}")),
            None => Err(format!("expected {name}, found none")),
        };
        Ok(Self {
            packed: count(packed, "compressed_page_size")?,
            unpacked: count(unpacked, "uncompressed_page_size")?,
            // A page of an index has none.
            entries: count(entries.or(Some(0)), "num_values")?,
            encoding,
        })
    }
}

/// Calls `field` for each field of a struct, with its number and type.
fn fields<P: TInputProtocol>(
    header: &mut P,
    mut field: impl FnMut(&mut P, i16, TType) -> Result<(), String>,
) -> Result<(), String> {
    header.read_struct_begin().map_err(|e| e.to_string())?;
    loop {
        let found = header.read_field_begin().map_err(|e| e.to_string())?;
        if found.field_type == TType::Stop {
            break;
        }
        field(header, found.id.unwrap_or(0), found.field_type)?;
        header.read_field_end().map_err(|e| e.to_string())?;
    }
    header.read_struct_end().map_err(|e| e.to_string())
}

/// Sets a field. A header that has it twice may mean either value to the reader of parquet.
fn once(field: &mut Option<i32>, value: thrift::Result<i32>) -> Result<(), String> {
    let value = value.map_err(|e| e.to_string())?;
    match field.replace(value) {
        None => Ok(()),
        Some(_) => Err("expected each field once, found one twice".to_owned()),
    }
}
