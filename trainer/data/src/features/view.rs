//! The fixed views of a record with precomputed features.

use espalier_core::input::Preprocess;
use image::RgbImage;
use image::imageops::flip_horizontal;
use serde_json::json;

use crate::batches::batch_spec::BatchSpec;
use crate::records::fault::Fault;
use crate::records::mirror::mentions_sides;
use crate::records::random::{Purpose, Random};
use crate::records::source::Record;
use crate::sampling::regions::{crop_region, encoder_square, is_usable, preprocessed};

/// Which images of a record a file covers. They are in separate files, so that a method without
/// boxes can reuse the photo features of one with boxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// The whole photo.
    Photo,
    /// The crops of all usable boxes.
    Crops,
}

/// Settings of the views.
#[derive(Clone, Debug)]
pub struct ViewSpec {
    /// View 0: the evaluation crop, without augmentation.
    pub evaluation: Preprocess,
    /// Number of views of each image and crop, at least 1.
    pub views: u32,
    /// Views 1 and later: random crops, flipped and corrupted as in batches of images. Also defines
    /// which boxes are large enough.
    pub augmented: BatchSpec,
}

impl ViewSpec {
    /// Returns the settings that the features of a view depend on, besides the encoder and the
    /// images.
    pub(super) fn key(&self, subject: Subject, view: u32) -> String {
        let a = &self.augmented;
        let crop = a.augment.map(|crop| format!("{crop:?}"));
        let settings = match view {
            0 => json!(self.evaluation),
            _ => json!([a.image_size, crop, a.white_pad, a.mirror, a.corruption]),
        };
        let min_box_px = (subject == Subject::Crops).then_some(a.min_box_px);
        json!([format!("{subject:?}"), view, settings, min_box_px]).to_string()
    }
}

/// A record with its photo decoded and its usable boxes cropped.
pub(super) struct DecodedRecord {
    photo: RgbImage,
    /// Each crop with the index of its box in the record.
    crops: Vec<(u32, RgbImage)>,
    mirror: bool,
    seed: u64,
}

impl DecodedRecord {
    /// Decodes a record; `seed` is derived from its content.
    pub(super) fn new(
        record: &Record,
        spec: &ViewSpec,
        crops: bool,
        seed: u64,
    ) -> Result<Self, Fault> {
        let photo = record.image.decode()?;
        let mut cropped = Vec::new();
        for (index, grounded) in (0_u32..).zip(&record.boxes).filter(|_| crops) {
            let region = &grounded.region;
            if is_usable(region, photo.dimensions(), spec.augmented.min_box_px) {
                cropped.push((index, crop_region(region, &photo)?));
            }
        }
        Ok(Self {
            photo,
            crops: cropped,
            mirror: spec.augmented.mirror && !mentions_sides(record),
            seed,
        })
    }

    /// Returns the items of a subject: 0 for the photo, or indices of the boxes.
    pub(super) fn items(&self, subject: Subject) -> Vec<u32> {
        match subject {
            Subject::Photo => vec![0],
            Subject::Crops => self.crops.iter().map(|(index, _)| *index).collect(),
        }
    }

    /// Renders a view of the photo or of all crops as encoder input. It depends only on the content
    /// of the record and the settings, not on the seed of a run, so that runs can share it.
    pub(super) fn view(
        &self,
        subject: Subject,
        view: u32,
        spec: &ViewSpec,
    ) -> Result<Vec<RgbImage>, Fault> {
        let stream = |index: u64| Random::new(self.seed, Purpose::View, u64::from(view), index);
        let mirrored = self.mirror && view > 0 && stream(0).uniform() < 0.5;
        let random = &mut stream(if subject == Subject::Photo { 1 } else { 2 });
        let mut render = |image: &RgbImage| {
            if view == 0 {
                return preprocessed(image, &spec.evaluation);
            }
            if mirrored {
                return encoder_square(&flip_horizontal(image), &spec.augmented, random);
            }
            encoder_square(image, &spec.augmented, random)
        };
        match subject {
            Subject::Photo => Ok(vec![render(&self.photo)?]),
            Subject::Crops => self.crops.iter().map(|(_, crop)| render(crop)).collect(),
        }
    }
}
