//! Decodes the images of records, block by block, on worker threads.

use image::RgbImage;
use rayon::ThreadPool;
use rayon::prelude::*;

use super::content::HashedRecord;
use super::file::Entry;
use super::view::{DecodedRecord, Subject, ViewSpec};
use crate::batches::image_batch::Pixels;
use crate::records::fault::{Broken, Fault};
use crate::records::record_image::RecordImage;
use crate::records::source::Records;

/// Images and entries of some records for each missing layer.
pub(super) type Block = Vec<(Vec<Entry>, Pixels)>;

/// Subjects and images of a record for each missing layer.
type RecordImages = Result<Vec<(Vec<u32>, Vec<RgbImage>)>, Fault>;

/// Decodes the images of a unit for the layers that are missing.
pub(super) struct BlockDecoder<'a> {
    pub(super) loaded: &'a dyn Records,
    /// Views of each image and crop.
    pub(super) views: &'a ViewSpec,
    /// Whether the crops of boxes are encoded too.
    pub(super) crops: bool,
    /// Subject and view of each missing layer.
    pub(super) missing: &'a [(Subject, u32)],
    pub(super) pool: &'a ThreadPool,
}

impl BlockDecoder<'_> {
    /// Returns the images of some consecutive records, the first of which is in row `from`.
    pub(super) fn block(
        &self,
        from: usize,
        hashed_records: &[Result<HashedRecord, Broken>],
    ) -> Block {
        let rows: Vec<_> = (from..).zip(hashed_records).collect();
        let read = |(row, hashed): (usize, &Result<HashedRecord, Broken>)| self.record(row, hashed);
        let records: Vec<RecordImages> = self
            .pool
            .install(|| rows.into_par_iter().map(read).collect());
        let layer = |index: usize| {
            let mut images = Vec::new();
            let entry = |record: &RecordImages| match record {
                Ok(layers) => Entry::Rows(layers[index].0.clone()),
                Err(fault) => Entry::Broken(fault.cause, fault.detail.clone()),
            };
            let entries = records.iter().map(entry).collect();
            for record in records.iter().flatten() {
                images.extend(&record[index].1);
            }
            (entries, Pixels::pack(self.views.evaluation.size, &images))
        };
        (0..self.missing.len()).map(layer).collect()
    }

    fn record(&self, row: usize, hashed: &Result<HashedRecord, Broken>) -> RecordImages {
        let hashed = hashed.as_ref().map_err(|broken| broken.fault.clone())?;
        if matches!(hashed.record.image, RecordImage::None) {
            let no_images = self.missing.iter().map(|_| (Vec::new(), Vec::new()));
            return Ok(no_images.collect());
        }
        let record = self.loaded.read(row).map_err(|broken| broken.fault)?;
        let decoded = DecodedRecord::new(&record, self.views, self.crops, hashed.content.seed())?;
        let render = |(subject, view): &(Subject, u32)| {
            let images = decoded.view(*subject, *view, self.views)?;
            Ok((decoded.items(*subject), images))
        };
        self.missing.iter().map(render).collect()
    }
}
