//! Tables of image names and captions: CSV, as of Flickr30k and Flickr8k, with tabs, as Flickr8k was first
//! published, and lines of JSON, as in folders for Hugging Face's `imagefolder`.

use std::collections::HashMap;
use std::path::Path;

use csv::{ReaderBuilder, StringRecord};
use espalier_io::disk::read;
use serde_json::Value;

use super::images::{Captioned, EXPECTED, ImageFolders};
use crate::formats::caption_texts::texts_of;
use crate::records::error::{DataError, Result};

/// Columns that may hold the name of an image, in order of preference.
const NAMES: [&str; 7] = [
    "file_name",
    "filename",
    "filepath",
    "image_name",
    "image",
    "path",
    "img",
];
/// Columns that may hold a caption, in order of preference.
const CAPTIONS: [&str; 7] = [
    "caption", "captions", "comment", "sentence", "text", "title", "raw",
];
/// Delimiters of columns that are tried, in this order.
const DELIMITERS: [u8; 4] = *b"\t|,;";
/// First bytes of a file that are looked at to recognise it.
const HEAD: u64 = 1 << 14;

/// The columns of a table.
struct Columns {
    delimiter: u8,
    name: usize,
    caption: usize,
    has_header: bool,
}

/// Layout of a table.
enum Layout {
    Columns(Columns),
    JsonLines,
}

/// Returns whether a file is such a table.
pub(super) fn matches(file: &Path) -> bool {
    read::head(file, HEAD).is_ok_and(|head| layout(&head).is_some())
}

/// Recognises the layout by the first line.
fn layout(text: &str) -> Option<Layout> {
    let first = text.lines().find(|line| !line.trim().is_empty())?;
    if first.starts_with('{') {
        let row = serde_json::from_str::<Value>(first).ok()?;
        return (name_of(&row).is_some() && captions_of(&row).is_some())
            .then_some(Layout::JsonLines);
    }
    let columns = DELIMITERS.iter().find_map(|delimiter| {
        let header = fields(first, *delimiter)?;
        let find = |known: &[&str]| {
            let is = |name: &&str| {
                header
                    .iter()
                    .position(|h| h.trim().eq_ignore_ascii_case(name))
            };
            known.iter().find_map(is)
        };
        Some(Columns {
            delimiter: *delimiter,
            name: find(&NAMES)?,
            caption: find(&CAPTIONS)?,
            has_header: true,
        })
    });
    // Flickr8k's and Flickr30k's token files: `1000268201.jpg#0<tab>A child …`.
    let tokens = || {
        let (name, _) = first.split_once('\t')?;
        name.contains('#').then_some(Columns {
            delimiter: b'\t',
            name: 0,
            caption: 1,
            has_header: false,
        })
    };
    columns.or_else(tokens).map(Layout::Columns)
}

fn fields(line: &str, delimiter: u8) -> Option<StringRecord> {
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .delimiter(delimiter)
        .from_reader(line.as_bytes());
    reader.records().next()?.ok()
}

fn name_of(row: &Value) -> Option<&str> {
    NAMES.iter().find_map(|name| row.get(name)?.as_str())
}

fn captions_of(row: &Value) -> Option<Vec<String>> {
    CAPTIONS.iter().find_map(|name| texts_of(row.get(name)?))
}

/// The images of a table in the order of their first row, with the captions of all rows.
#[derive(Default)]
struct Rows {
    of_name: HashMap<String, usize>,
    rows: Vec<(String, Vec<String>)>,
}

impl Rows {
    fn add(&mut self, name: &str, captions: impl IntoIterator<Item = String>) {
        let at = *self.of_name.entry(name.to_owned()).or_insert_with(|| {
            self.rows.push((name.to_owned(), Vec::new()));
            self.rows.len() - 1
        });
        self.rows[at].1.extend(captions);
    }
}

/// Reads a table.
pub(super) fn read(file: &Path, folders: &ImageFolders, into: &mut Captioned) -> Result<()> {
    let broken = |found: String| DataError::layout(file, EXPECTED, found);
    let text = read::text(file).map_err(DataError::io(file))?;
    let layout = layout(&text).ok_or_else(|| {
        let first = text.lines().next().unwrap_or_default();
        let shown: String = first.chars().take(80).collect();
        broken(format!("the first line `{shown}`"))
    })?;
    let mut rows = Rows::default();
    match layout {
        Layout::JsonLines => {
            let lines = (1..).zip(text.lines());
            for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
                let row: Value = serde_json::from_str(line)
                    .map_err(|e| broken(format!("line {number}: {e}")))?;
                match name_of(&row) {
                    Some(name) => rows.add(name, captions_of(&row).unwrap_or_default()),
                    None => into.coverage.note("row without an image", 1, line),
                }
            }
        }
        Layout::Columns(columns) => {
            read_columns(&text, &columns, &mut rows, into).map_err(broken)?;
        }
    }
    for (name, captions) in rows.rows {
        let image = into.add_image(name, folders);
        into.add_captions(image, captions);
    }
    Ok(())
}

fn read_columns(
    text: &str,
    columns: &Columns,
    rows: &mut Rows,
    into: &mut Captioned,
) -> std::result::Result<(), String> {
    let mut reader = ReaderBuilder::new()
        .has_headers(columns.has_header)
        .delimiter(columns.delimiter)
        .flexible(true)
        // Flickr8k's and Flickr30k's own files have no quotes, but captions that begin with one.
        .quoting(columns.has_header && columns.delimiter != b'|')
        .from_reader(text.as_bytes());
    let header = if columns.has_header {
        reader.headers().map_err(|e| e.to_string())?.len()
    } else {
        2
    };
    let delimiter = char::from(columns.delimiter);
    for row in reader.records() {
        let row = row.map_err(|e| e.to_string())?;
        let name = row.get(columns.name).unwrap_or_default().trim();
        // Captions may hold the delimiter without quotes where they are the last column.
        let caption = if columns.caption + 1 == header {
            let rest: Vec<&str> = row.iter().skip(columns.caption).collect();
            rest.join(&delimiter.to_string())
        } else {
            row.get(columns.caption).unwrap_or_default().to_owned()
        };
        // `name.jpg#2` is the third caption of `name.jpg`.
        let name = match name.rsplit_once('#') {
            Some((image, number)) if number.parse::<u32>().is_ok() => image,
            _ => name,
        };
        match name.is_empty() {
            true => into.coverage.note("row without an image", 1, &caption),
            false => rows.add(name, [caption.trim().to_owned()]),
        }
    }
    Ok(())
}
