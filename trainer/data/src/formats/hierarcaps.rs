//! HierarCaps: chains of captions with contradictions, one per row (notation 5.4).
//!
//! CSV, plain or gzipped, with the columns `positive` and `negative`, each four texts joined by
//! `=>` from general to specific. The file is read as a whole: the largest has 73,000 rows.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use espalier_io::disk::gzip::Unpacked;
use espalier_io::disk::read;

use crate::formats::open_images::column_places;
use crate::records::error::{DataError, Result, first_names};
use crate::records::fault::{Broken, Cause, Fault};
use crate::records::lineage::TextChain;
use crate::records::source::{Dataset, Record, Records, Unit};

/// Texts per chain.
const TIERS: usize = 4;
/// Rows that are shuffled and counted as one unit.
const ROWS: usize = 4096;
/// Separator between two texts.
const ARROW: &str = "=>";

/// The chain of a row, or the reason why it has none.
type Row = std::result::Result<TextChain, Fault>;

/// One or more CSV files.
pub struct Hierarcaps {
    names: Vec<String>,
    files: Vec<Arc<Vec<Row>>>,
    units: Vec<Unit>,
}

impl Hierarcaps {
    /// Opens the files that `paths` name. `drop_tier` (1 to 4) drops a tier, 0 drops none.
    ///
    /// # Errors
    /// If a file cannot be read or lacks a column, or there is no valid row.
    pub fn open(paths: &[PathBuf], drop_tier: usize) -> Result<Self> {
        let mut data = Self {
            names: Vec::new(),
            files: Vec::new(),
            units: Vec::new(),
        };
        for path in paths {
            let rows = read(path, drop_tier)?;
            let shard = u32::try_from(data.files.len()).unwrap_or(u32::MAX);
            let units = (0..).zip(rows.chunks(ROWS));
            data.units
                .extend(units.map(|(part, chunk)| Unit::of_references(shard, part, chunk.len())));
            data.names.push(path.display().to_string());
            data.files.push(Arc::new(rows));
        }
        if data.files.iter().all(|rows| rows.iter().all(Row::is_err)) {
            let first = data
                .files
                .iter()
                .flat_map(|rows| rows.iter())
                .find_map(|r| r.as_ref().err());
            return Err(DataError::NoRecords {
                places: first_names(data.names.iter().map(String::as_str)),
                detail: first.map_or_else(String::new, |f| format!("; {}: {}", f.cause, f.detail)),
            });
        }
        Ok(data)
    }

    /// Returns the chains of all rows that have one.
    pub fn chains(&self) -> impl Iterator<Item = &TextChain> {
        self.files.iter().flat_map(|rows| rows.iter().flatten())
    }
}

/// Parses the chain of a row.
fn chain(positive: &str, negative: &str, drop_tier: usize) -> Row {
    let side = |name: &str, field: &str| {
        let texts = field.split(ARROW).map(|text| text.trim().to_owned());
        let mut tiers: Vec<String> = texts.collect();
        if tiers.len() != TIERS {
            let detail = format!("{name}: expected {TIERS} tiers, found {}", tiers.len());
            return Err(Fault::new(Cause::WrongTiers, detail));
        }
        if let Some(tier) = tiers.iter().position(String::is_empty) {
            let detail = format!("{name}: tier {} is empty", tier + 1);
            return Err(Fault::new(Cause::MissingCaption, detail));
        }
        if drop_tier > 0 {
            tiers.remove(drop_tier - 1);
        }
        Ok(tiers)
    };
    Ok(TextChain {
        positives: side("positive", positive)?,
        negatives: side("negative", negative)?,
    })
}

/// Opens a CSV, plain or gzipped by its extension.
///
/// # Errors
/// The system's.
pub(crate) fn csv_reader(path: &Path) -> std::io::Result<csv::Reader<Box<dyn Read>>> {
    let file = read::open(path)?;
    let gzipped = path
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("gz"));
    let source: Box<dyn Read> = match gzipped {
        true => Box::new(Unpacked::new(file)),
        false => Box::new(file),
    };
    Ok(csv::ReaderBuilder::new().flexible(true).from_reader(source))
}

fn read(path: &Path, drop_tier: usize) -> Result<Vec<Row>> {
    let mut reader = csv_reader(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => DataError::NoSuchPath(path.into()),
        _ => DataError::io(path)(e),
    })?;
    let header = reader.headers().map_err(|e| unreadable(path, &e))?.clone();
    let [positive, negative] = column_places(path, &header, ["positive", "negative"])?;
    let mut rows = Vec::new();
    for record in reader.records() {
        let row = match record {
            Ok(record) => chain(
                record.get(positive).unwrap_or_default(),
                record.get(negative).unwrap_or_default(),
                drop_tier,
            ),
            Err(e) if is_too_large(&e) => return Err(unreadable(path, &e)),
            // Reading cannot be resumed after a truncated or damaged section.
            Err(e) if e.is_io_error() => {
                rows.push(Err(Fault::new(Cause::ShardEndsEarly, e.to_string())));
                break;
            }
            Err(e) => Err(Fault::new(Cause::UnreadableText, e.to_string())),
        };
        rows.push(row);
    }
    Ok(rows)
}

/// Returns whether the file unpacks to more than [`Unpacked`] accepts.
fn is_too_large(error: &csv::Error) -> bool {
    matches!(error.kind(), csv::ErrorKind::Io(e) if e.kind() == std::io::ErrorKind::FileTooLarge)
}

fn unreadable(path: &Path, error: &csv::Error) -> DataError {
    DataError::NoRecords {
        places: vec![path.display().to_string()],
        detail: format!(": {error}"),
    }
}

impl Dataset for Hierarcaps {
    fn units(&self) -> &[Unit] {
        &self.units
    }

    fn shard_name(&self, shard: u32) -> &str {
        &self.names[shard as usize]
    }

    fn load(&self, unit: usize) -> std::result::Result<Box<dyn Records>, Broken> {
        let Unit { shard, part, .. } = self.units[unit];
        Ok(Box::new(Rows {
            rows: Arc::clone(&self.files[shard as usize]),
            first: part as usize * ROWS,
        }))
    }
}

struct Rows {
    rows: Arc<Vec<Row>>,
    first: usize,
}

impl Records for Rows {
    fn read(&self, row: usize) -> std::result::Result<Record, Broken> {
        let row = self.first + row;
        let key = format!("row {}", row + 1);
        match &self.rows[row] {
            Ok(chain) => Ok(Record::of_chain(key, chain.clone())),
            Err(fault) => Err(fault.clone().of(key)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};

    use super::*;
    use crate::test_files::folder;

    const CSV: &str = "positive,negative\n\
        \"animal => dog => a dog => a dog, asleep\",plant => cat => a red dog => a dog in a car\n\
        a => b => c,d => e => f => g\n\
        a => b => => d,d => e => f => g\n";

    fn open(content: &[u8], name: &str, drop_tier: usize) -> Result<Hierarcaps> {
        let dir = folder(&[(name, content)]);
        Hierarcaps::open(&[dir.path().join(name)], drop_tier)
    }

    #[test]
    fn valid_rows_become_chains_and_others_are_reported() {
        let data = open(CSV.as_bytes(), "h.csv", 0).unwrap();
        assert_eq!(data.records(), 3);
        let rows = data.load(0).unwrap();
        let chain = rows.read(0).unwrap().chain.unwrap();
        assert_eq!(chain.positives, ["animal", "dog", "a dog", "a dog, asleep"]);
        assert_eq!(chain.negatives[1], "cat");
        let fault = |row: usize| rows.read(row).unwrap_err().fault;
        assert_eq!(fault(1).cause, Cause::WrongTiers);
        assert_eq!(fault(1).detail, "positive: expected 4 tiers, found 3");
        assert_eq!(fault(2).detail, "positive: tier 3 is empty");
    }

    #[test]
    fn gzipped_files_are_read_and_a_tier_can_be_dropped() {
        let mut zip = GzEncoder::new(Vec::new(), Compression::fast());
        zip.write_all(b"positive,negative\na=>b=>c=>d,e=>f=>g=>h\n")
            .unwrap();
        let data = open(&zip.finish().unwrap(), "h.csv.gz", 2).unwrap();
        let chain = data.load(0).unwrap().read(0).unwrap().chain.unwrap();
        assert_eq!(chain.positives, ["a", "c", "d"]);
        assert_eq!(chain.negatives, ["e", "g", "h"]);
    }

    #[test]
    fn missing_columns_are_named_with_those_found() {
        let opened = open(b"captions,image_url\nx,y\n", "h.csv", 0);
        let error = opened.map(|_| ()).unwrap_err();
        let message = error.to_string();
        for part in [
            "missing column positive, negative",
            "found columns captions, image_url",
        ] {
            assert!(message.contains(part), "{message}");
        }
        assert_eq!(error.exit_code(), 2);
    }

    #[test]
    fn a_truncated_file_counts_as_one_broken_row() {
        let mut zip = GzEncoder::new(Vec::new(), Compression::fast());
        let mut text = String::from("positive,negative\n");
        for i in 0..3000 {
            text.push_str(&format!(
                "a{i}=>b{i}=>c=>d,e{i}=>f=>g{}=>h\n",
                i * 7919 % 1000
            ));
        }
        zip.write_all(text.as_bytes()).unwrap();
        let bytes = zip.finish().unwrap();
        let data = open(&bytes[..bytes.len() / 2], "h.csv.gz", 0).unwrap();
        let records = data.records() as usize;
        assert!((500..3000).contains(&records), "{records}");
        let last = data.load(0).unwrap().read(records - 1).unwrap_err();
        assert_eq!(last.fault.cause, Cause::ShardEndsEarly);
    }
}
