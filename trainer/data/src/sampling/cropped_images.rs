//! Images of a dataset with crops of all their boxes, in file order, for figures.

use std::sync::Arc;

use espalier_core::input::Preprocess;
use image::RgbImage;
use rayon::prelude::*;

use crate::records::boxes::default_min_box_px;
use crate::records::error::{DataError, Result};
use crate::records::fault::{Broken, BrokenCounts, Fault};
use crate::records::source::{Dataset, Record, Records};
use crate::sampling::regions::{crop_region, preprocessed, usable_boxes};

/// Number of records decoded at a time.
const CHUNK: usize = 64;

/// A crop of an image.
#[derive(Clone, Debug)]
pub struct BoxCrop {
    /// Phrase that describes the crop.
    pub phrase: String,
    /// Label of the crop, where the dataset has one.
    pub label: Option<String>,
    /// Preprocessed for the model.
    pub image: RgbImage,
}

/// An image with its crops.
#[derive(Clone, Debug)]
pub struct CroppedImage {
    /// Key of the record.
    pub key: String,
    /// Caption; blank where the dataset has none.
    pub caption: String,
    /// Preprocessed for the model.
    pub image: RgbImage,
    /// The original image.
    pub original: RgbImage,
    /// Boxes that are large enough, noun chunks first.
    pub boxes: Vec<BoxCrop>,
}

fn prepare(record: Record, preprocess: &Preprocess) -> Result<CroppedImage, Broken> {
    let key = record.key.clone();
    let read = || -> Result<_, Fault> {
        let original = record.image.decode()?;
        let min_box_px = default_min_box_px(preprocess.size);
        let mut boxes = Vec::new();
        for grounded in usable_boxes(record.boxes, original.dimensions(), min_box_px) {
            let crop = crop_region(&grounded.region, &original)?;
            boxes.push(BoxCrop {
                phrase: grounded.phrase,
                label: grounded.synset,
                image: preprocessed(&crop, preprocess)?,
            });
        }
        Ok(CroppedImage {
            key: record.key,
            caption: record.caption,
            image: preprocessed(&original, preprocess)?,
            original,
            boxes,
        })
    };
    read().map_err(|fault| fault.of(key))
}

/// Reads the first `limit` readable images and passes them to `take` in groups.
///
/// # Errors
/// [`DataError::TooManyBroken`] when more than `max_broken` of the records are broken,
/// [`DataError::Setting`] when no image is left, and any error of `take`.
pub fn read<E: From<DataError>>(
    data: &Arc<dyn Dataset>,
    preprocess: &Preprocess,
    limit: usize,
    max_broken: f64,
    mut take: impl FnMut(Vec<CroppedImage>) -> Result<(), E>,
) -> Result<(), E> {
    let mut counts = BrokenCounts::default();
    let mut found = 0;
    for (at, unit) in data.units().iter().enumerate() {
        let shard = data.shard_name(unit.shard);
        let loaded = data.load(at);
        let mut row = 0;
        while row < unit.records as usize && found < limit {
            let end = (row + CHUNK.min(limit - found)).min(unit.records as usize);
            let read_row = |row: usize| prepare(loaded.read(row)?, preprocess);
            let chunk: Vec<_> = (row..end).into_par_iter().map(read_row).collect();
            counts.seen += chunk.len() as u64;
            let mut images = Vec::with_capacity(chunk.len());
            for result in chunk {
                match result {
                    Ok(image) => images.push(image),
                    Err(broken) => counts.add(shard, &broken),
                }
            }
            DataError::check_storage(&counts)?;
            found += images.len();
            if !images.is_empty() {
                take(images)?;
            }
            row = end;
        }
    }
    DataError::check_broken(&counts, max_broken)?;
    if found == 0 {
        let found = format!("none in {} records", counts.seen);
        return Err(DataError::setting("--data", "images that can be read", found).into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Synthetic;
    use crate::records::fault::Cause;
    use crate::sampling::flawed::{Flaw, Flawed};
    use espalier_core::input::ResizeMode;

    #[test]
    fn the_first_records_come_in_order_with_their_boxes_ready() {
        let data: Arc<dyn Dataset> = Arc::new(Synthetic::new(300, 48, 1));
        let preprocess = Preprocess::new(16, ResizeMode::CentreCrop);
        let mut keys = Vec::new();
        read(&data, &preprocess, 270, 0.01, |images| {
            for image in images {
                assert_eq!(image.image.dimensions(), (16, 16));
                assert_eq!(image.original.dimensions(), (48, 48));
                let ready = image.boxes.iter().map(|b| b.image.dimensions());
                assert!(!image.boxes.is_empty() && ready.into_iter().all(|d| d == (16, 16)));
                keys.push(image.key);
            }
            Ok::<_, DataError>(())
        })
        .unwrap();
        assert_eq!(keys.len(), 270);
        assert!(keys.is_sorted());
    }

    #[test]
    fn unreadable_records_are_left_out_up_to_the_limit() {
        // A quarter of each unit.
        let flawed = [(0, 1), (1, 0)].into_iter();
        let data: Arc<dyn Dataset> = Arc::new(Flawed::new(&[4, 4]).with(Flaw::Unreadable, flawed));
        let preprocess = Preprocess::new(16, ResizeMode::CentreCrop);
        let read_up_to = |limit, max_broken| {
            let mut keys = Vec::new();
            let result = read(&data, &preprocess, limit, max_broken, |images| {
                keys.extend(images.into_iter().map(|image| image.key));
                Ok::<_, DataError>(())
            });
            result.map(|()| keys.join(" "))
        };
        assert_eq!(read_up_to(9, 0.25).unwrap(), "0/0 0/2 0/3 1/1 1/2 1/3");
        assert_eq!(read_up_to(4, 0.5).unwrap(), "0/0 0/2 0/3 1/1");
        match read_up_to(9, 0.0).unwrap_err() {
            DataError::TooManyBroken { counts, .. } => {
                assert_eq!((counts.seen, counts.broken()), (8, 2));
                let example = &counts.by_cause[&Cause::UnreadableImage].example;
                assert_eq!([&example.file, &example.key], ["flawed.tar", "0/1"]);
            }
            error => panic!("{error:?}"),
        }
        let all = (0..2).flat_map(|unit| (0..4).map(move |row| (unit, row)));
        let none: Arc<dyn Dataset> = Arc::new(Flawed::new(&[4, 4]).with(Flaw::Unreadable, all));
        let error = read(&none, &preprocess, 9, 1.0, |_| Ok::<_, DataError>(())).unwrap_err();
        assert!(error.to_string().contains("none in 8 records"), "{error}");
    }
}
