//! Images, captions and boxes of a dataset with their points.

use std::sync::Arc;

use espalier_data::Dataset;
use espalier_data::sampling::cropped_images::{self, CroppedImage};
use image::RgbImage;

use super::subject::Subject;
use crate::figure::Thumbnail;

/// A box with its points.
#[derive(Clone, Debug)]
pub struct Boxed {
    /// Its phrase.
    pub phrase: String,
    /// Its label: the dataset's, otherwise the phrase.
    pub label: String,
    /// Point of the crop.
    pub image: Vec<f32>,
    /// Point of the phrase.
    pub text: Vec<f32>,
    /// A thumbnail, if requested.
    pub thumbnail: Option<Thumbnail>,
}

/// An image with its points.
#[derive(Clone, Debug)]
pub struct PhotoParts {
    /// Key in the dataset.
    pub key: String,
    /// Caption; blank if the dataset has none.
    pub caption: String,
    /// Point of the image.
    pub image: Vec<f32>,
    /// Point of the caption.
    pub text: Vec<f32>,
    /// Its boxes.
    pub boxes: Vec<Boxed>,
    /// A thumbnail, if requested.
    pub thumbnail: Option<Thumbnail>,
}

/// Options for reading.
#[derive(Clone, Copy, Debug)]
pub struct ReadOptions {
    /// Maximum number of images.
    pub most: usize,
    /// Stops when the share of broken records exceeds this.
    pub max_broken: f64,
    /// Whether to keep thumbnails.
    pub thumbnails: bool,
}

/// Embeds the first images of a dataset; calls `progress` with their number after each group.
///
/// # Errors
/// [`espalier_data::DataError`] for data that cannot be used, or when the device fails.
pub fn read(
    subject: &Subject,
    data: &Arc<dyn Dataset>,
    options: ReadOptions,
    progress: impl Fn(usize),
) -> anyhow::Result<Vec<PhotoParts>> {
    let mut scenes: Vec<PhotoParts> = Vec::new();
    let (most, max_broken) = (options.most, options.max_broken);
    let preprocess = &subject.model.preprocess;
    let embed_group = |images: Vec<CroppedImage>| -> anyhow::Result<()> {
        scenes.extend(embed(subject, images, options.thumbnails)?);
        progress(scenes.len());
        Ok(())
    };
    cropped_images::read::<anyhow::Error>(data, preprocess, most, max_broken, embed_group)?;
    Ok(scenes)
}

/// Returns the points of a group of images, of all their boxes and of all their texts, in three
/// forward passes.
fn embed(
    subject: &Subject,
    records: Vec<CroppedImage>,
    thumbnails: bool,
) -> anyhow::Result<Vec<PhotoParts>> {
    let thumbnail = |name: &str, image: &RgbImage| {
        let made = thumbnails.then(|| Thumbnail::new(name, image));
        made.transpose()
    };
    let all_boxes = || records.iter().flat_map(|record| &record.boxes);
    let pixels: Vec<_> = records.iter().map(|record| &record.image).collect();
    let crops: Vec<_> = all_boxes().map(|b| &b.image).collect();
    let captions = records.iter().map(|record| &record.caption);
    let texts = captions.chain(all_boxes().map(|b| &b.phrase)).cloned();
    let texts: Vec<String> = texts.collect();
    let mut images = subject.images(&pixels)?.into_iter();
    let mut crops = subject.images(&crops)?.into_iter();
    let mut captions = subject.texts(&texts)?;
    let mut phrases = captions.split_off(records.len()).into_iter();
    let mut captions = captions.into_iter();
    let mut out = Vec::with_capacity(records.len());
    for record in records {
        let mut boxes = Vec::with_capacity(record.boxes.len());
        for box_crop in record.boxes {
            boxes.push(Boxed {
                label: (box_crop.label).unwrap_or_else(|| box_crop.phrase.to_lowercase()),
                thumbnail: thumbnail(&box_crop.phrase, &box_crop.image)?,
                phrase: box_crop.phrase,
                image: crops.next().unwrap_or_default(),
                text: phrases.next().unwrap_or_default(),
            });
        }
        out.push(PhotoParts {
            thumbnail: thumbnail(&record.key, &record.original)?,
            key: record.key,
            caption: record.caption,
            image: images.next().unwrap_or_default(),
            text: captions.next().unwrap_or_default(),
            boxes,
        });
    }
    Ok(out)
}
