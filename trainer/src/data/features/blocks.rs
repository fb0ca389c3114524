//! Decodes the images of records, block by block, on worker threads.

use image::RgbImage;
use rayon::ThreadPool;
use rayon::prelude::*;

use super::file::Entry;
use super::probe::Probe;
use super::view::{Opened, Subject, ViewSpec};
use crate::data::batches::image_batch::Pictures;
use crate::data::records::fault::{Broken, Fault};
use crate::data::records::picture::Picture;
use crate::data::records::source::Records;

/// Images and entries of some records for each missing layer.
pub(super) type Block = Vec<(Vec<Entry>, Pictures)>;

/// Subjects and images of a record for each missing layer.
type Drawn = Result<Vec<(Vec<u32>, Vec<RgbImage>)>, Fault>;

/// Decodes the images of a unit for the layers that are missing.
pub(super) struct BlockDecoder<'a> {
    /// The unit.
    pub(super) loaded: &'a dyn Records,
    /// Views of each image and crop.
    pub(super) views: &'a ViewSpec,
    /// Whether the crops of boxes are encoded too.
    pub(super) crops: bool,
    /// Subject and view of each missing layer.
    pub(super) missing: &'a [(Subject, u32)],
    /// The worker threads.
    pub(super) pool: &'a ThreadPool,
}

impl BlockDecoder<'_> {
    /// Returns the images of some consecutive records, the first of which is in row `from`.
    pub(super) fn block(&self, from: usize, probes: &[Result<Probe, Broken>]) -> Block {
        let rows: Vec<_> = (from..).zip(probes).collect();
        let one = |(row, probe): (usize, &Result<Probe, Broken>)| self.record(row, probe);
        let drawn: Vec<Drawn> = self
            .pool
            .install(|| rows.into_par_iter().map(one).collect());
        let layer = |at: usize| {
            let mut pictures = Vec::new();
            let entry = |record: &Drawn| match record {
                Ok(layers) => Entry::Rows(layers[at].0.clone()),
                Err(fault) => Entry::Broken(fault.cause, fault.detail.clone()),
            };
            let entries = drawn.iter().map(entry).collect();
            for record in drawn.iter().flatten() {
                pictures.extend(&record[at].1);
            }
            (
                entries,
                Pictures::pack(self.views.evaluation.size, &pictures),
            )
        };
        (0..self.missing.len()).map(layer).collect()
    }

    fn record(&self, row: usize, probe: &Result<Probe, Broken>) -> Drawn {
        let probe = probe.as_ref().map_err(|broken| broken.fault.clone())?;
        if matches!(probe.record.picture, Picture::None) {
            let none = self.missing.iter().map(|_| (Vec::new(), Vec::new()));
            return Ok(none.collect());
        }
        let record = self.loaded.read(row).map_err(|broken| broken.fault)?;
        let opened = Opened::new(&record, self.views, self.crops, probe.content.seed())?;
        let draw = |(subject, view): &(Subject, u32)| {
            let pictures = opened.view(*subject, *view, self.views)?;
            Ok((opened.items(*subject), pictures))
        };
        self.missing.iter().map(draw).collect()
    }
}
