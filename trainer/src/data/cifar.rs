//! CIFAR-10 and CIFAR-100 as published for C programs: a byte or two of label, then 3,072 bytes of
//! pixels a picture.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use image::RgbImage;

use super::boxes::BoxTally;
use super::error::{DataError, Result};
use super::fault::{Broken, Cause, Fault};
use super::picture::Picture;
use super::source::{Dataset, Record, Records, Unit};

/// What lies where, for messages.
pub const WANTED: &str = "CIFAR's binary version: test_batch.bin with batches.meta.txt (CIFAR-10), or \
    test.bin with fine_label_names.txt (CIFAR-100)";

const SIDE: u32 = 32;
const PIXELS: usize = (SIDE * SIDE) as usize;

/// The test pictures of one of the two.
pub struct Cifar {
    file: PathBuf,
    name: String,
    labels: Arc<Vec<String>>,
    bytes: Arc<Vec<u8>>,
    /// Bytes of labels before a picture; the last of them is the one that counts.
    head: usize,
    units: [Unit; 1],
}

/// File of the pictures, file of the names, bytes of labels.
const KINDS: [(&str, &str, usize); 2] = [
    ("test_batch.bin", "batches.meta.txt", 1),
    ("test.bin", "fine_label_names.txt", 2),
];

fn kind(folder: &Path) -> Option<(PathBuf, PathBuf, usize)> {
    KINDS.iter().find_map(|(pictures, names, head)| {
        let (pictures, names) = (folder.join(pictures), folder.join(names));
        (pictures.is_file() && names.is_file()).then_some((pictures, names, *head))
    })
}

impl Cifar {
    /// Whether a folder holds one of them.
    #[must_use]
    pub fn is_one(folder: &Path) -> bool {
        kind(folder).is_some()
    }

    /// Open the test pictures of a folder.
    ///
    /// # Errors
    /// If a file cannot be read or holds no whole picture.
    pub fn open(folder: &Path) -> Result<Self> {
        let Some((file, names, head)) = kind(folder) else {
            return Err(DataError::layout(folder, WANTED, "other files"));
        };
        let text = fs::read_to_string(&names).map_err(DataError::io(&names))?;
        let labels = text.lines().map(str::trim).filter(|l| !l.is_empty());
        let bytes = fs::read(&file).map_err(DataError::io(&file))?;
        // A cut last picture is a broken record.
        let records = bytes.len().div_ceil(head + 3 * PIXELS);
        if records == 0 {
            return Err(DataError::layout(&file, WANTED, "an empty file"));
        }
        Ok(Self {
            name: file.display().to_string(),
            labels: Arc::new(labels.map(str::to_owned).collect()),
            bytes: Arc::new(bytes),
            head,
            file,
            units: [Unit {
                shard: 0,
                part: 0,
                records: u32::try_from(records).unwrap_or(u32::MAX),
                bytes: 0,
            }],
        })
    }

    /// Names of all classes.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The file of the pictures.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }
}

impl Dataset for Cifar {
    fn units(&self) -> &[Unit] {
        &self.units
    }

    fn shard_name(&self, _shard: u32) -> &str {
        &self.name
    }

    fn load(&self, _unit: usize) -> std::result::Result<Box<dyn Records>, Broken> {
        Ok(Box::new(Rows {
            labels: Arc::clone(&self.labels),
            bytes: Arc::clone(&self.bytes),
            head: self.head,
        }))
    }
}

struct Rows {
    labels: Arc<Vec<String>>,
    bytes: Arc<Vec<u8>>,
    head: usize,
}

impl Records for Rows {
    fn read(&self, row: usize) -> std::result::Result<Record, Broken> {
        let size = self.head + 3 * PIXELS;
        let key = row.to_string();
        let record = self.bytes.get(row * size..(row + 1) * size);
        let Some((head, planes)) = record.and_then(|r| r.split_at_checked(self.head)) else {
            return Err(Fault::new(Cause::ShardEndsEarly, "a cut picture").of(key));
        };
        let label = head.last().and_then(|at| self.labels.get(usize::from(*at)));
        let Some(label) = label else {
            let detail = format!("label {head:?} of {} names", self.labels.len());
            return Err(Fault::new(Cause::UnreadableMetadata, detail).of(key));
        };
        let picture = RgbImage::from_fn(SIDE, SIDE, |x, y| {
            let at = (y * SIDE + x) as usize;
            image::Rgb([planes[at], planes[PIXELS + at], planes[2 * PIXELS + at]])
        });
        Ok(Record {
            key,
            picture: Picture::Decoded(picture),
            caption: label.replace('_', " "),
            boxes: Vec::new(),
            synsets: vec![label.clone()],
            chain: None,
            tally: BoxTally::default(),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn planes_become_pixels_and_the_fine_label_counts() {
        let dir = tempfile::tempdir().unwrap();
        let mut bytes = vec![7, 1];
        bytes.extend((0..3 * PIXELS).map(|i| (i / PIXELS * 100 + i % PIXELS % 32) as u8));
        bytes.extend([0, 9, 1, 2, 3]);
        fs::write(dir.path().join("test.bin"), &bytes).unwrap();
        fs::write(
            dir.path().join("fine_label_names.txt"),
            "apple\naquarium_fish\n\n",
        )
        .unwrap();
        assert!(Cifar::is_one(dir.path()));
        let data = Cifar::open(dir.path()).unwrap();
        assert_eq!((data.records(), data.labels().len()), (2, 2));
        let rows = data.load(0).unwrap();
        let record = rows.read(0).unwrap();
        assert_eq!(
            (record.caption.as_str(), record.synsets[0].as_str()),
            ("aquarium fish", "aquarium_fish")
        );
        let picture = record.picture.decode().unwrap();
        assert_eq!(picture.get_pixel(5, 3).0, [5, 105, 205]);
        assert_eq!(rows.read(1).unwrap_err().fault.cause, Cause::ShardEndsEarly);
        assert!(!Cifar::is_one(Path::new("no/such/folder")));
    }

    #[test]
    fn a_label_without_a_name_is_a_broken_record() {
        let dir = tempfile::tempdir().unwrap();
        let bytes: Vec<u8> = std::iter::once(3)
            .chain((0..3 * PIXELS).map(|_| 0))
            .collect();
        fs::write(dir.path().join("test_batch.bin"), bytes).unwrap();
        fs::write(dir.path().join("batches.meta.txt"), "airplane\n").unwrap();
        let data = Cifar::open(dir.path()).unwrap();
        let fault = data.load(0).unwrap().read(0).unwrap_err().fault;
        assert_eq!(fault.cause, Cause::UnreadableMetadata);
    }
}
