//! `trainer data prepare`: converts shards with box coordinates to shards with box crops (notation
//! 5.2), readable by the reference implementations.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufWriter, IntoInnerError};
use std::path::Path;

use espalier_core::input::{Preprocess, ResizeMode};
use espalier_io::disk::read;
use espalier_io::disk::temporary::Temporary;
use espalier_io::disk::write::temporary_name;
use image::RgbImage;
use image::codecs::jpeg::JpegEncoder;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::records::boxes::PREPARED_MIN_BOX_PX;
use crate::records::error::{DataError, Result};
use crate::records::fault::{Broken, BrokenCounts, Cause, Fault};
use crate::records::prepared::{PREPARED, PREPARING};
use crate::records::source::{Dataset, Record, Records};
use crate::records::walk::base_name;
use crate::sampling::regions::{crop_region, usable_boxes};

/// Side of the prepared images in pixels.
const SIZE: u32 = 224;
const JPEG_QUALITY: u8 = 95;
/// Number of records converted before they are written.
const CHUNK: u32 = 256;
/// Format of the list of shards next to the tars.
const FORMAT: &str = "espalier-prepared/2";
/// Format of earlier versions, whose list grew shard by shard under the name of the complete one.
const FORMAT_1: &str = "espalier-prepared/1";

/// Result of converting one input shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreparedShard {
    /// Name of the tar.
    pub tar: String,
    /// The input shard, without its folder.
    pub source: String,
    /// Records written.
    pub written: u64,
    /// Crops written.
    pub boxes: u64,
    /// Counts of records read and skipped.
    pub counts: BrokenCounts,
}

/// List of the shards of a folder: all of them in `prepared.json`, the finished ones in
/// `preparing.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ShardList {
    format: String,
    /// Fingerprint of the input.
    fingerprint: String,
    /// Number of shards of the complete folder.
    #[serde(default)]
    expected: u32,
    shards: Vec<PreparedShard>,
}

/// Result of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PrepareReport {
    /// All shards of the folder, including those of earlier calls.
    pub shards: Vec<PreparedShard>,
    /// Shards that an earlier call had finished.
    pub already_done: usize,
    /// Records written, over all shards.
    pub written: u64,
    /// Crops written, over all shards.
    pub boxes: u64,
    /// Counts of records read and skipped, over all shards.
    pub counts: BrokenCounts,
}

/// Writes one tar per input shard into `out`, named `00000.tar` onwards, on the threads of the
/// current rayon pool.
///
/// A tar is written under a temporary name and renamed when it is complete. `preparing.json` lists
/// the finished ones, and becomes `prepared.json` after the last: a folder without it is refused
/// where it is read. To continue an interrupted call, call again with the same input. `progress` is called with the number of records
/// just finished, including those of shards finished earlier.
///
/// # Errors
/// If `out` was started with different input, or cannot be written, or object storage fails.
pub fn prepare(
    dataset: &dyn Dataset,
    out: &Path,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<PrepareReport> {
    fs::create_dir_all(out).map_err(DataError::io(out))?;
    let mut list = read_list(out, dataset.fingerprint())?;
    let already_done = list.shards.len();
    let units = dataset.units();
    let shards = units.last().map_or(0, |unit| unit.shard + 1);
    list.expected = shards;
    if already_done < shards as usize {
        save_list(out, &list)?;
    }
    for shard in 0..shards {
        let shard_units = (0..units.len()).filter(|&i| units[i].shard == shard);
        if (shard as usize) < already_done {
            progress(shard_units.map(|i| u64::from(units[i].records)).sum());
            continue;
        }
        let tar = format!("{shard:05}.tar");
        let target = out.join(&tar);
        let name = temporary_name(&target);
        let temporary = Temporary::new(name.clone()).map_err(DataError::io(&name))?;
        let file = File::create(&name).map_err(DataError::io(&name))?;
        let mut writer = Writer {
            tar: tar::Builder::new(BufWriter::new(file)),
            keys: HashMap::new(),
            done: PreparedShard {
                source: base_name(dataset.shard_name(shard)).to_owned(),
                tar: tar.clone(),
                written: 0,
                boxes: 0,
                counts: BrokenCounts::default(),
            },
        };
        for unit in shard_units {
            write_unit(dataset, unit, &mut writer, progress).map_err(DataError::io(&name))?;
            DataError::check_storage(&writer.done.counts)?;
        }
        let done = writer.finish().map_err(DataError::io(&name))?;
        temporary
            .rename_to(&target)
            .map_err(DataError::io(&target))?;
        list.shards.push(done);
        save_list(out, &list)?;
    }
    let (preparing, prepared) = (out.join(PREPARING), out.join(PREPARED));
    if preparing.exists() {
        fs::rename(&preparing, &prepared).map_err(DataError::io(&prepared))?;
    }
    let mut counts = BrokenCounts::default();
    for shard in &list.shards {
        counts.merge(&shard.counts);
    }
    Ok(PrepareReport {
        written: list.shards.iter().map(|shard| shard.written).sum(),
        boxes: list.shards.iter().map(|shard| shard.boxes).sum(),
        shards: list.shards,
        already_done,
        counts,
    })
}

/// Opens the list of an earlier call, or creates a new one.
fn read_list(out: &Path, fingerprint: String) -> Result<ShardList> {
    let mismatch = |reason: String| DataError::unusable(out, reason);
    let mut names = [PREPARING, PREPARED].into_iter();
    let Some(name) = names.find(|name| out.join(name).exists()) else {
        if out.join("00000.tar").exists() {
            let reason = format!("contains tars but no {PREPARED}; choose an empty folder");
            return Err(mismatch(reason));
        }
        return Ok(ShardList {
            format: FORMAT.to_owned(),
            fingerprint,
            expected: 0,
            shards: Vec::new(),
        });
    };
    let path = out.join(name);
    let bytes = read::bytes(&path).map_err(DataError::io(&path))?;
    let mut list: ShardList =
        serde_json::from_slice(&bytes).map_err(|e| mismatch(format!("{name}: {e}")))?;
    if ![FORMAT, FORMAT_1].contains(&list.format.as_str()) {
        let found = list.format;
        let reason = format!("{name}: expected format {FORMAT}, found {found}");
        return Err(mismatch(reason));
    }
    FORMAT.clone_into(&mut list.format);
    if list.fingerprint != fingerprint {
        let reason = "was started with other input shards; give the same shards or another folder";
        return Err(mismatch(reason.to_owned()));
    }
    // If a tar was deleted since, it and all later ones are written again.
    let missing = |shard: &PreparedShard| !out.join(&shard.tar).exists();
    let complete = list.shards.iter().position(missing);
    list.shards.truncate(complete.unwrap_or(list.shards.len()));
    Ok(list)
}

/// Writes the list of the finished shards. From then on the folder does not count as complete.
fn save_list(out: &Path, list: &ShardList) -> Result<()> {
    let path = out.join(PREPARING);
    let text = serde_json::to_vec_pretty(list).map_err(|e| DataError::Worker(e.to_string()))?;
    let write = || -> std::io::Result<()> {
        let temporary = Temporary::new(temporary_name(&path))?;
        fs::write(temporary.path(), text)?;
        temporary.rename_to(&path)?;
        match fs::remove_file(out.join(PREPARED)) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    };
    write().map_err(DataError::io(&path))
}

/// A converted record: image, caption, and crops with phrases.
struct PreparedRecord {
    key: String,
    image: Vec<u8>,
    caption: String,
    boxes: Vec<(Vec<u8>, String)>,
}

fn write_unit(
    dataset: &dyn Dataset,
    unit: usize,
    writer: &mut Writer,
    progress: &(dyn Fn(u64) + Sync),
) -> std::io::Result<()> {
    let info = dataset.units()[unit];
    let shard = dataset.shard_name(info.shard);
    let loaded = dataset.load(unit);
    for first in (0..info.records).step_by(CHUNK as usize) {
        let end = info.records.min(first + CHUNK);
        let prepared: Vec<Result<Option<PreparedRecord>, Broken>> = (first..end)
            .into_par_iter()
            .map(|row| {
                let record = loaded.read(row as usize)?;
                let key = record.key.clone();
                prepare_record(record).map_err(|fault| fault.of(key))
            })
            .collect();
        let counts = &mut writer.done.counts;
        counts.seen += prepared.len() as u64;
        for result in prepared {
            match result {
                Ok(Some(prepared)) => writer.write(&prepared)?,
                Ok(None) => writer.done.counts.no_usable_box += 1,
                Err(broken) => writer.done.counts.add(shard, &broken),
            }
        }
        progress(u64::from(end - first));
    }
    Ok(())
}

/// Converts a record; returns `None` if no box is large enough.
fn prepare_record(record: Record) -> Result<Option<PreparedRecord>, Fault> {
    let Record {
        key,
        image,
        caption,
        boxes,
        ..
    } = record;
    let image = image.decode()?;
    let boxes = usable_boxes(boxes, image.dimensions(), PREPARED_MIN_BOX_PX)
        .into_iter()
        .map(|usable| Ok((jpeg(&crop_region(&usable.region, &image)?)?, usable.phrase)))
        .collect::<Result<Vec<_>, Fault>>()?;
    if boxes.is_empty() {
        return Ok(None);
    }
    Ok(Some(PreparedRecord {
        key,
        image: jpeg(&image)?,
        caption,
        boxes,
    }))
}

/// Pads the image to a white square and encodes it as JPEG.
fn jpeg(image: &RgbImage) -> Result<Vec<u8>, Fault> {
    let unreadable = |e: &dyn std::fmt::Display| Fault::new(Cause::UnreadableImage, e.to_string());
    let square = Preprocess::new(SIZE, ResizeMode::WhitePad)
        .apply(image)
        .map_err(|e| unreadable(&e))?;
    let mut bytes = Vec::new();
    JpegEncoder::new_with_quality(&mut bytes, JPEG_QUALITY)
        .encode_image(&square)
        .map_err(|e| unreadable(&e))?;
    Ok(bytes)
}

/// The tar being written.
struct Writer {
    tar: tar::Builder<BufWriter<File>>,
    /// Number of times each key was written.
    keys: HashMap<String, u32>,
    done: PreparedShard,
}

impl Writer {
    /// Writes the members in the order of their extensions, as the reference does.
    fn write(&mut self, prepared: &PreparedRecord) -> std::io::Result<()> {
        let key = self.unique_key(&prepared.key);
        self.append_member(&key, "child.jpg", &prepared.image)?;
        self.append_member(&key, "child.txt", prepared.caption.as_bytes())?;
        let count = prepared.boxes.len().to_string();
        self.append_member(&key, "numparents.txt", count.as_bytes())?;
        for (i, (crop, phrase)) in prepared.boxes.iter().enumerate() {
            self.append_member(&key, &format!("parent{i:03}.jpg"), crop)?;
            self.append_member(&key, &format!("parent{i:03}.txt"), phrase.as_bytes())?;
        }
        self.done.written += 1;
        self.done.boxes += prepared.boxes.len() as u64;
        Ok(())
    }

    /// Makes a key unique, without dots and slashes, which would end the key early.
    fn unique_key(&mut self, key: &str) -> String {
        let clean = match key.replace(['.', '/', '\\'], "_") {
            empty if empty.is_empty() => "record".to_owned(),
            clean => clean,
        };
        let count = self.keys.entry(clean.clone()).or_default();
        *count += 1;
        if *count == 1 {
            clean
        } else {
            format!("{clean}-{count}")
        }
    }

    fn append_member(&mut self, key: &str, extension: &str, bytes: &[u8]) -> std::io::Result<()> {
        // Omits time and owner, so that the same input gives the same file.
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(0);
        self.tar
            .append_data(&mut header, format!("{key}.{extension}"), bytes)
    }

    fn finish(self) -> std::io::Result<PreparedShard> {
        let buffer = self.tar.into_inner()?;
        let file = buffer.into_inner().map_err(IntoInnerError::into_error)?;
        file.sync_all()?;
        Ok(self.done)
    }
}
