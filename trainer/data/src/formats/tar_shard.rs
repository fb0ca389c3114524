//! Tar shards: img2dataset's and prepared ones, recognised by their members (notation 5.1, 5.2).

use std::path::Path;

use espalier_io::disk::read;
use espalier_io::storage::ShardFile;
use serde_json::Value;

use crate::formats::caption_texts::{KEYS, texts_of};
use crate::formats::tar_index::{self, MemberGroup, TEXTS};
use crate::records::boxes::{BoxTally, Boxes, Entry, GroundedBox, MAX_ENTRIES, Region};
use crate::records::error::{DataError, Result};
use crate::records::fault::{Broken, Cause, Fault};
use crate::records::record_image::{ByteRange, RecordImage};
use crate::records::source::{Record, Records};
use crate::records::walk::{EXTENSIONS, LeftOut};

const EXPECTED: &str = "members <key>.jpg|.png|.webp, <key>.json, <key>.txt (img2dataset; with --dataset captions \
                      one of the two texts is enough) or <key>.child.jpg, \
                      <key>.child.txt, <key>.numparents.txt, <key>.parent000.jpg (prepared)";
/// Most characters of a value that a message shows.
const MAX_SHOWN: usize = 60;
const REQUIRED_KEYS: [&str; 2] = ["noun_chunks", "ref_exps"];
/// Most crops of a prepared record: its noun chunks and referring expressions.
const MAX_CROPS: usize = 2 * MAX_ENTRIES;
/// Number of records inspected before a shard is reported to lack keys.
const INSPECTED_RECORDS: usize = 8;

/// The two layouts of tar shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TarLayout {
    /// `<key>.jpg`, `<key>.txt`, `<key>.json`: boxes by coordinates, or captions alone.
    Raw,
    /// `<key>.child.jpg`, …, `<key>.parent000.jpg`, …: boxes as crops.
    Prepared,
}

impl TarLayout {
    fn of(group: &MemberGroup, boxes: Boxes) -> Option<Self> {
        if group.has("numparents.txt") || group.members.iter().any(|(e, _)| e.starts_with("child."))
        {
            Some(Self::Prepared)
        } else {
            let texts = group.get("json").or_else(|| match boxes {
                Boxes::Required => None,
                Boxes::Optional => group.caption(),
            });
            image_of(group).ok().and(texts).map(|_| Self::Raw)
        }
    }
}

/// Returns the image of a record.
pub(super) fn image_of(group: &MemberGroup) -> Result<RecordImage, Fault> {
    let image = EXTENSIONS.iter().find_map(|extension| group.get(extension));
    let missing = || Fault::new(Cause::MissingImage, "no .jpg, .png or .webp member");
    Ok(RecordImage::ByteRange(image.ok_or_else(missing)?.clone()))
}

/// A tar shard with the offsets of its members; contents are read on demand.
pub struct TarShard {
    layout: TarLayout,
    boxes: Boxes,
    /// The complete records.
    pub(super) groups: Vec<MemberGroup>,
    /// The record at which the file was truncated, counted as one additional record.
    pub(super) tail: Option<Broken>,
    /// Members that belong to no record, by the rule that leaves them out.
    pub left_out: LeftOut,
}

impl TarShard {
    /// Indexes a tar by its headers.
    ///
    /// # Errors
    /// If the file cannot be opened, or is complete and matches no known layout.
    pub fn open(path: &Path, boxes: Boxes) -> Result<Self> {
        let file = ShardFile::open(path).map_err(DataError::io(path))?;
        let index = tar_index::index(&file).map_err(DataError::io(path))?;
        let mut groups = index.groups;
        let layout = groups.iter().find_map(|group| TarLayout::of(group, boxes));
        if layout.is_none() {
            if index.truncation.is_none() && !groups.is_empty() {
                return Err(unknown_layout(path, &groups));
            }
            // No complete record: one broken record, or an empty archive.
            groups.clear();
        }
        let layout = layout.unwrap_or(TarLayout::Raw);
        if layout == TarLayout::Raw {
            if boxes == Boxes::Required {
                check_keys(path, &groups)?;
            }
            if let Some(failure) = file.failure() {
                return Err(DataError::io(path)(failure));
            }
        }
        let truncated = index.truncated_key;
        let is_whole = |last: &MemberGroup| {
            truncated.as_ref() != Some(&last.key) && is_complete((layout, boxes), last, &groups[0])
        };
        let last_is_whole = groups.last().is_some_and(is_whole);
        let tail = index.truncation.map(|fault| {
            let broken = groups.pop_if(|_| !last_is_whole);
            fault.of(match (broken, truncated, groups.last()) {
                (Some(broken), ..) => broken.key,
                (None, Some(key), _) => key,
                (None, None, Some(last)) => format!("after {}", last.key),
                (None, None, None) => "first".to_owned(),
            })
        });
        Ok(Self {
            layout,
            boxes,
            groups,
            tail,
            left_out: index.left_out,
        })
    }

    /// Fetches a tar that is in object storage.
    ///
    /// # Errors
    /// If storage fails.
    pub fn prefetch(path: &Path) -> Result<()> {
        let fetch = || {
            let file = ShardFile::open(path)?;
            file.prefetch(std::slice::from_ref(&(0..file.size()?)))
        };
        fetch().map_err(DataError::io(path))
    }

    /// Returns the number of records; a truncation counts as one broken record.
    pub fn records(&self) -> usize {
        self.groups.len() + usize::from(self.tail.is_some())
    }
}

impl Records for TarShard {
    fn read(&self, row: usize) -> Result<Record, Broken> {
        let Some(group) = self.groups.get(row) else {
            return Err(self.tail.clone().unwrap_or_else(|| {
                Fault::new(Cause::ShardDamaged, "the shard changed while it was read")
                    .of(row.to_string())
            }));
        };
        let record = match self.layout {
            TarLayout::Raw => read_raw(group, self.boxes),
            TarLayout::Prepared => read_prepared(group),
        };
        record.map_err(|fault| fault.of(group.key.clone()))
    }
}

/// Returns whether the last group before a truncation is complete: it has the same kinds of members
/// as the first record of the shard, or all the crops that it announces.
fn is_complete(
    (layout, boxes): (TarLayout, Boxes),
    last: &MemberGroup,
    first: &MemberGroup,
) -> bool {
    let has_crop = |i: usize| {
        let member = |extension: &str| last.has(&format!("parent{i:03}.{extension}"));
        member("jpg") && member("txt")
    };
    match layout {
        TarLayout::Raw => {
            image_of(last).is_ok()
                && (last.has("json") || boxes == Boxes::Optional)
                && (first.key == last.key || TEXTS.iter().all(|e| last.has(e) || !first.has(e)))
        }
        TarLayout::Prepared => {
            last.has("child.jpg")
                && last.has("child.txt")
                && count_of(last).is_ok_and(|n| (0..n).all(has_crop))
        }
    }
}

fn unknown_layout(path: &Path, groups: &[MemberGroup]) -> DataError {
    let names = groups.iter().flat_map(|group| {
        let members = group.members.iter();
        members.map(move |(extension, _)| format!("{}.{extension}", group.key))
    });
    let names: Vec<String> = names.take(6).collect();
    DataError::layout(path, EXPECTED, names.join(", "))
}

/// Checks the `.json` of the first records. If none of them has the keys of boxes, the whole shard
/// is unusable, not a single record.
fn check_keys(path: &Path, groups: &[MemberGroup]) -> Result<()> {
    let mut error = None;
    let with_json = groups.iter().filter(|group| group.has("json"));
    for group in with_json.take(INSPECTED_RECORDS) {
        let Ok(Value::Object(json)) = json_of(group) else {
            continue;
        };
        let missing = REQUIRED_KEYS.into_iter().filter(|k| !json.contains_key(*k));
        let missing: Vec<&str> = missing.collect();
        if missing.is_empty() {
            return Ok(());
        }
        let lack = format!("the .json of {} lacks {}", group.key, missing.join(", "));
        error.get_or_insert_with(|| {
            let found: Vec<&str> = json.keys().map(String::as_str).collect();
            DataError::lacking(path, lack, "keys", &REQUIRED_KEYS, &found)
        });
    }
    error.map_or(Ok(()), Err)
}

fn text_of(range: &ByteRange, extension: &str) -> Result<String, Fault> {
    read::text_of(range.read()?)
        .map_err(|e| Fault::new(Cause::UnreadableText, format!(".{extension}: {e}")))
}

fn json_of(group: &MemberGroup) -> Result<Value, Fault> {
    let bytes = group.required("json")?.read()?;
    let fault = |e: String| Fault::new(Cause::UnreadableMetadata, format!(".json: {e}"));
    let text = read::text_of(bytes).map_err(|e| fault(e.to_string()))?;
    serde_json::from_str(&text).map_err(|e| fault(e.to_string()))
}

fn read_raw(group: &MemberGroup, boxes: Boxes) -> Result<Record, Fault> {
    let image = image_of(group)?;
    let json = match boxes {
        Boxes::Optional if !group.has("json") => Value::Null,
        _ => json_of(group)?,
    };
    // Offsets refer to the caption in the .json; the .txt holds the same text.
    let captions = match KEYS.iter().find_map(|key| texts_of(json.get(key)?)) {
        Some(captions) => captions,
        None => match group.caption() {
            Some(text) => vec![text_of(text, "txt")?],
            None => {
                let detail = "neither a caption in the .json nor a .txt member";
                return Err(Fault::new(Cause::MissingCaption, detail));
            }
        },
    };
    let side = |key: &str| json.get(key)?.as_f64();
    Record::captioned(group.key.clone(), image, captions)?.with_boxes(
        &entries(&json, "noun_chunks")?,
        &entries(&json, "ref_exps")?,
        strings(&json, "synsets")?,
        side("width").zip(side("height")),
    )
}

fn wrong(key: &str, expected: &str, found: &Value) -> Fault {
    let mut found = found.to_string();
    if let Some((end, _)) = found.char_indices().nth(MAX_SHOWN) {
        found.truncate(end);
    }
    Fault::new(
        Cause::UnreadableMetadata,
        format!("{key}: expected {expected}, found {found}"),
    )
}

/// Returns the value of a key; some exporters write nested lists as JSON strings.
fn nested(json: &Value, key: &str) -> Result<Value, Fault> {
    match json.get(key) {
        Some(Value::String(text)) => {
            serde_json::from_str(text).map_err(|_| wrong(key, "a list", &json[key]))
        }
        Some(value) => Ok(value.clone()),
        None => Ok(Value::Null),
    }
}

/// Returns the items of a list; none if the key is absent.
fn list<T>(
    json: &Value,
    key: &str,
    expected: &str,
    item: impl Fn(&Value) -> Option<T>,
) -> Result<Vec<T>, Fault> {
    let value = nested(json, key)?;
    match &value {
        Value::Null => Some(Vec::new()),
        Value::Array(items) => items.iter().map(item).collect(),
        _ => None,
    }
    .ok_or_else(|| wrong(key, expected, &value))
}

fn entries(json: &Value, key: &str) -> Result<Vec<Entry>, Fault> {
    let number = |v: &Value| match v {
        Value::Null => Some(f64::NAN),
        _ => v.as_f64(),
    };
    list(json, key, "a list of lists of numbers", |entry| {
        entry.as_array()?.iter().map(number).collect()
    })
}

fn strings(json: &Value, key: &str) -> Result<Vec<String>, Fault> {
    list(json, key, "a list of texts", |text| {
        text.as_str().map(String::from)
    })
}

/// Returns the number of crops that a prepared record announces.
fn count_of(group: &MemberGroup) -> Result<usize, Fault> {
    const NAME: &str = "numparents.txt";
    let text = text_of(group.required(NAME)?, NAME)?;
    let count = text.trim().parse().ok().filter(|n| *n <= MAX_CROPS);
    count.ok_or_else(|| {
        let found: String = text.trim().chars().take(MAX_SHOWN).collect();
        let detail = format!(".{NAME}: expected a number up to {MAX_CROPS}, found '{found}'");
        Fault::new(Cause::UnreadableMetadata, detail)
    })
}

fn read_prepared(group: &MemberGroup) -> Result<Record, Fault> {
    let image = RecordImage::ByteRange(group.required("child.jpg")?.clone());
    let caption = text_of(group.required("child.txt")?, "child.txt")?;
    let record = Record::captioned(group.key.clone(), image, vec![caption])?;
    let mut tally = BoxTally::default();
    let mut boxes = Vec::new();
    for i in 0..count_of(group)? {
        let (crop, text) = (format!("parent{i:03}.jpg"), format!("parent{i:03}.txt"));
        let crop = group.required(&crop)?.clone();
        let phrase = text_of(group.required(&text)?, &text)?;
        tally.prepared += 1;
        if phrase.trim().is_empty() {
            tally.blank_phrase += 1;
            continue;
        }
        let region = Region::Crop(RecordImage::ByteRange(crop));
        boxes.push(GroundedBox::new(phrase, region, None));
    }
    Ok(Record {
        boxes,
        tally,
        ..record
    })
}
