//! Dataset interface: units of records that can be loaded one by one, in any order.

use sha2::{Digest, Sha256};

use crate::records::boxes::{BoxTally, Entry, GroundedBox, check_lengths, ground};
use crate::records::fault::{Broken, Cause, Fault};
use crate::records::frame;
use crate::records::lineage::TextChain;
use crate::records::random::Random;
use crate::records::record_image::RecordImage;
use crate::records::walk::{LeftOut, base_name};

/// A part of a dataset that is loaded as a whole: a row group of a parquet shard, or a tar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Index of the shard.
    pub shard: u32,
    /// Index of the part within the shard.
    pub part: u32,
    /// Number of records, broken ones included.
    pub records: u32,
    /// Bytes that the unit takes in memory once loaded.
    pub bytes: u64,
}

impl Unit {
    /// Creates a unit that holds only where its records are, not their images.
    pub(crate) fn of_references(shard: u32, part: u32, records: usize) -> Self {
        Self {
            shard,
            part,
            records: u32::try_from(records).unwrap_or(u32::MAX),
            bytes: 0,
        }
    }
}

/// A dataset with known units whose records have not been read yet.
pub trait Dataset: Send + Sync {
    /// Returns all units, in file order.
    fn units(&self) -> &[Unit];

    /// Returns the name of a shard for reports, as the user gave it.
    fn shard_name(&self, shard: u32) -> &str;

    /// Loads a unit by its index.
    ///
    /// # Errors
    /// The fault that breaks every record of the unit.
    fn load(&self, unit: usize) -> Result<Box<dyn Records>, Broken>;

    /// Fetches a unit that will be loaded soon, where it is not on this machine.
    fn prefetch(&self, _unit: usize) {}

    /// Returns the entries of folders that are no records, by the rule that leaves them out.
    fn left_out(&self) -> LeftOut {
        LeftOut::new()
    }

    /// Returns how many times an epoch takes each record of a unit, on average; finite and above 0.
    fn weight(&self, _unit: usize) -> f64 {
        1.0
    }

    /// Returns the number of records, broken ones included.
    fn records(&self) -> u64 {
        self.units()
            .iter()
            .map(|unit| u64::from(unit.records))
            .sum()
    }

    /// Returns the SHA-256 over the names of the shards and the sizes of their units, in hex. It is
    /// equal exactly when a [`Position`](crate::records::order::Position) means the same
    /// record in both datasets.
    fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        for (at, unit) in self.units().iter().enumerate() {
            let weight = self.weight(at);
            if weight != 1.0 {
                hash.update(weight.to_le_bytes());
            }
            // The folder may differ between machines; the file name may not.
            let base = base_name(self.shard_name(unit.shard));
            hash.update((base.len() as u64).to_le_bytes());
            hash.update(base.as_bytes());
            hash.update(unit.part.to_le_bytes());
            hash.update(unit.records.to_le_bytes());
            hash.update(unit.bytes.to_le_bytes());
        }
        let hash = hash.finalize();
        hash.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The records of a loaded unit.
pub trait Records: Send + Sync {
    /// Reads record `row`, without decoding its images.
    ///
    /// # Errors
    /// Why it cannot be used.
    fn read(&self, row: usize) -> Result<Record, Broken>;
}

/// A loaded unit, or the fault that breaks all its records.
impl Records for Result<Box<dyn Records>, Broken> {
    fn read(&self, row: usize) -> Result<Record, Broken> {
        self.as_ref().map_err(Clone::clone)?.read(row)
    }
}

/// One image-text-box record.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its key in the dataset.
    pub key: String,
    /// The whole image, if the dataset has images.
    pub image: RecordImage,
    /// The caption, not blank.
    pub caption: String,
    /// Further captions of the same image, where the dataset has several.
    pub more_captions: Vec<String>,
    /// Boxes with a phrase, noun chunks first; not yet filtered by size.
    pub boxes: Vec<GroundedBox>,
    /// Labels of the boxed objects, as stored.
    pub synsets: Vec<String>,
    /// Texts from general to specific with their negatives, where the dataset has them.
    pub chain: Option<TextChain>,
    /// Counts from converting the stored entries to [`Record::boxes`].
    pub tally: BoxTally,
}

impl Record {
    /// Creates a record of an image with at most one label and no boxes.
    pub fn labelled(
        key: String,
        image: RecordImage,
        label: Option<String>,
        caption: impl Into<String>,
    ) -> Self {
        Self {
            key,
            image,
            caption: caption.into(),
            more_captions: Vec::new(),
            boxes: Vec::new(),
            synsets: label.into_iter().collect(),
            chain: None,
            tally: BoxTally::default(),
        }
    }

    /// Creates a record of an image and its captions; blank ones are left out.
    ///
    /// # Errors
    /// If all captions are blank.
    pub fn captioned(
        key: String,
        image: RecordImage,
        captions: Vec<String>,
    ) -> Result<Self, Fault> {
        let detail = match captions.len() {
            0 => "the image has no caption",
            1 => "the caption is blank",
            _ => "all captions are blank",
        };
        let mut captions = captions.into_iter().filter(|text| !text.trim().is_empty());
        let first = captions.next();
        let caption = first.ok_or_else(|| Fault::new(Cause::MissingCaption, detail))?;
        Ok(Self {
            more_captions: captions.collect(),
            ..Self::labelled(key, image, None, caption)
        })
    }

    /// Returns the record with the boxes and the synsets that are stored for it; the offsets of the entries refer to
    /// its first caption. `size` is the width and height that the dataset states for the image.
    ///
    /// # Errors
    /// If a caption or a list of entries is implausibly long.
    pub(crate) fn with_boxes(
        self,
        noun_chunks: &[Entry],
        ref_exps: &[Entry],
        synsets: Vec<String>,
        size: Option<(f64, f64)>,
    ) -> Result<Self, Fault> {
        for caption in self.captions() {
            check_lengths(caption, noun_chunks, ref_exps)?;
        }
        let (mut boxes, mut tally) = ground(&self.caption, noun_chunks, ref_exps, &synsets);
        frame::place(&self.image, size, &mut boxes, &mut tally);
        Ok(Self {
            boxes,
            synsets,
            tally,
            ..self
        })
    }

    /// Iterates over all captions.
    pub fn captions(&self) -> impl Iterator<Item = &str> {
        let more = self.more_captions.iter().map(String::as_str);
        [self.caption.as_str()].into_iter().chain(more)
    }

    /// Keeps one of its captions, each with the same probability.
    pub(crate) fn choose_caption(&mut self, random: &mut Random) {
        let others = std::mem::take(&mut self.more_captions);
        if others.is_empty() {
            return;
        }
        let count = u32::try_from(others.len()).unwrap_or(u32::MAX - 1) + 1;
        if let Some(chosen) = random.below(count).checked_sub(1) {
            self.caption = others.into_iter().nth(chosen as usize).unwrap_or_default();
        }
    }

    /// Creates a record that consists of a chain of texts only.
    pub fn of_chain(key: String, chain: TextChain) -> Self {
        let last = chain.positives.last().cloned().unwrap_or_default();
        Self {
            chain: Some(chain),
            ..Self::labelled(key, RecordImage::None, None, last)
        }
    }
}
