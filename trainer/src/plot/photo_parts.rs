//! Images, captions and boxes of a dataset with their points.

use std::sync::Arc;

use crate::data::Dataset;
use crate::data::sampling::cuttings;
use crate::figure::Thumbnail;

use super::subject::Subject;

/// A box with its points.
#[derive(Clone, Debug)]
pub struct Boxed {
    /// Its phrase.
    pub phrase: String,
    /// Its label: the dataset's, otherwise the phrase.
    pub label: String,
    /// Point of the crop.
    pub picture: Vec<f32>,
    /// Point of the phrase.
    pub text: Vec<f32>,
    /// A thumbnail, if requested.
    pub copy: Option<Thumbnail>,
}

/// An image with its points.
#[derive(Clone, Debug)]
pub struct PhotoParts {
    /// Key in the dataset.
    pub key: String,
    /// Caption; blank if the dataset has none.
    pub caption: String,
    /// Point of the image.
    pub picture: Vec<f32>,
    /// Point of the caption.
    pub text: Vec<f32>,
    /// Its boxes.
    pub boxes: Vec<Boxed>,
    /// A thumbnail, if requested.
    pub copy: Option<Thumbnail>,
}

/// Options for reading.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Maximum number of images.
    pub most: usize,
    /// Stops when the share of broken records exceeds this.
    pub max_broken: f64,
    /// Whether to keep thumbnails.
    pub copies: bool,
}

/// Embeds the first images of a dataset; calls `progress` with their number after each group.
///
/// # Errors
/// [`crate::data::DataError`] for data that cannot be used, or when the device fails.
pub fn read(
    subject: &Subject,
    data: &Arc<dyn Dataset>,
    wanted: Wanted,
    progress: impl Fn(usize),
) -> anyhow::Result<Vec<PhotoParts>> {
    let mut scenes: Vec<PhotoParts> = Vec::new();
    let (most, max_broken) = (wanted.most, wanted.max_broken);
    let preprocess = &subject.model.preprocess;
    let take = |wholes: Vec<cuttings::Whole>| -> anyhow::Result<()> {
        scenes.extend(embed(subject, wholes, wanted.copies)?);
        progress(scenes.len());
        Ok(())
    };
    cuttings::read::<anyhow::Error>(data, preprocess, most, max_broken, take)?;
    Ok(scenes)
}

fn copy(wanted: bool, name: &str, picture: &image::RgbImage) -> anyhow::Result<Option<Thumbnail>> {
    wanted.then(|| Thumbnail::new(name, picture)).transpose()
}

/// Points of a group of images, of all their boxes and of all their texts, in three forward passes.
fn embed(
    subject: &Subject,
    wholes: Vec<cuttings::Whole>,
    copies: bool,
) -> anyhow::Result<Vec<PhotoParts>> {
    let cut = || wholes.iter().flat_map(|w| &w.boxes);
    let pictures: Vec<_> = wholes.iter().map(|w| &w.picture).collect();
    let cuttings: Vec<_> = cut().map(|b| &b.picture).collect();
    let captions = wholes.iter().map(|w| w.caption.clone());
    let texts: Vec<String> = captions.chain(cut().map(|b| b.phrase.clone())).collect();
    let mut pictures = subject.pictures(&pictures)?.into_iter();
    let mut cuttings = subject.pictures(&cuttings)?.into_iter();
    let mut captions = subject.texts(&texts)?;
    let mut phrases = captions.split_off(wholes.len()).into_iter();
    let mut captions = captions.into_iter();
    let mut out = Vec::with_capacity(wholes.len());
    for whole in wholes {
        let mut boxes = Vec::with_capacity(whole.boxes.len());
        for cutting in whole.boxes {
            boxes.push(Boxed {
                label: cutting
                    .label
                    .unwrap_or_else(|| cutting.phrase.to_lowercase()),
                copy: copy(copies, &cutting.phrase, &cutting.picture)?,
                phrase: cutting.phrase,
                picture: cuttings.next().unwrap_or_default(),
                text: phrases.next().unwrap_or_default(),
            });
        }
        out.push(PhotoParts {
            copy: copy(copies, &whole.key, &whole.original)?,
            key: whole.key,
            caption: whole.caption,
            picture: pictures.next().unwrap_or_default(),
            text: captions.next().unwrap_or_default(),
            boxes,
        });
    }
    Ok(out)
}
