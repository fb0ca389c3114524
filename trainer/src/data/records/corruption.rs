//! Image corruptions of careless photography, used to measure the robustness of a model.

use std::sync::Arc;

use clap::ValueEnum;
use image::RgbImage;
use image::codecs::jpeg::JpegEncoder;
use image::imageops::{blur, rotate90};

use crate::data::records::fault::{Broken, Cause, Fault};
use crate::data::records::picture::Picture;
use crate::data::records::source::{Dataset, Record, Records, Unit};

/// Standard deviation of the blur as a fraction of the shorter side: 1.25 pixels for 64.
const BLUR: f32 = 0.02;
/// JPEG quality: low enough for clearly visible block artefacts.
const QUALITY: u8 = 10;
/// Factor applied to the stored values when darkening.
const LIGHT: f32 = 0.25;

/// Corruption applied to images before a model sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Corruption {
    /// Out of focus: a Gaussian of 2 % of the shorter side.
    Blur,
    /// Compressed: JPEG of quality 10.
    Jpeg,
    /// Turned by 90 degrees, clockwise.
    Turn,
    /// Dark: a quarter of each stored value.
    Dark,
}

/// Corruptions that keep all texts of an image true, including statements about positions.
const TRUE_TO_TEXT: [Corruption; 3] = [Corruption::Blur, Corruption::Jpeg, Corruption::Dark];

/// Applies a random label-preserving corruption at a random strength, up to the strength used for
/// evaluation. Takes two draws from [0, 1).
///
/// # Errors
/// Fails as [`Corruption::apply`] does.
pub(crate) fn corrupt(
    picture: RgbImage,
    mut uniform: impl FnMut() -> f32,
) -> Result<RgbImage, Fault> {
    let which = (uniform() * TRUE_TO_TEXT.len() as f32) as usize;
    let change = TRUE_TO_TEXT[which.min(TRUE_TO_TEXT.len() - 1)];
    change.apply(picture, uniform())?.decode()
}

impl Corruption {
    /// Returns the corrupted image; `share` in [0, 1] is the strength. [`Corruption::Turn`] ignores it
    /// and always turns by 90 degrees.
    ///
    /// # Errors
    /// If JPEG encoding fails, for example for an image with a side above 65,535 pixels.
    pub fn apply(self, mut picture: RgbImage, share: f32) -> Result<Picture, Fault> {
        let pixels = match self {
            Self::Blur => {
                let sigma = share * BLUR * picture.width().min(picture.height()) as f32;
                // Below this, neighbours have no effect, and kernel weights overflow for sigma near
                // 0.
                if sigma < 0.05 {
                    picture
                } else {
                    blur(&picture, sigma)
                }
            }
            Self::Jpeg => {
                let mut bytes = Vec::new();
                let quality = 100.0 - share * (100.0 - f32::from(QUALITY));
                JpegEncoder::new_with_quality(&mut bytes, quality.round() as u8)
                    .encode_image(&picture)
                    .map_err(|e| Fault::new(Cause::UnreadablePicture, e.to_string()))?;
                return Ok(Picture::Encoded(bytes));
            }
            Self::Turn => rotate90(&picture),
            Self::Dark => {
                let light = 1.0 - share * (1.0 - LIGHT);
                picture
                    .iter_mut()
                    .for_each(|value| *value = (f32::from(*value) * light).round() as u8);
                picture
            }
        };
        Ok(Picture::Decoded(pixels))
    }

    /// Wraps a dataset so that its whole images are corrupted. The boxes remain valid only for
    /// corruptions that keep the image geometry.
    #[must_use]
    pub fn of(self, data: Arc<dyn Dataset>) -> Arc<dyn Dataset> {
        Arc::new(Changed { data, change: self })
    }
}

struct Changed {
    data: Arc<dyn Dataset>,
    change: Corruption,
}

impl Dataset for Changed {
    fn units(&self) -> &[Unit] {
        self.data.units()
    }

    fn shard_name(&self, shard: u32) -> &str {
        self.data.shard_name(shard)
    }

    fn load(&self, unit: usize) -> Result<Box<dyn Records>, Broken> {
        let records = self.data.load(unit)?;
        let change = self.change;
        Ok(Box::new(ChangedRecords { records, change }))
    }

    fn weight(&self, unit: usize) -> f64 {
        self.data.weight(unit)
    }
}

struct ChangedRecords {
    records: Box<dyn Records>,
    change: Corruption,
}

impl Records for ChangedRecords {
    fn read(&self, row: usize) -> Result<Record, Broken> {
        let mut record = self.records.read(row)?;
        let changed = record
            .picture
            .decode()
            .and_then(|p| self.change.apply(p, 1.0));
        record.picture = changed.map_err(|fault| fault.of(&record.key))?;
        Ok(record)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::data::Synthetic;

    fn picture() -> RgbImage {
        RgbImage::from_fn(40, 20, |x, y| {
            let on = (x / 4 + y / 4) % 2 == 0;
            image::Rgb(if on { [200, 40, 12] } else { [10, 90, 240] })
        })
    }

    fn changed(change: Corruption) -> RgbImage {
        change.apply(picture(), 1.0).unwrap().decode().unwrap()
    }

    /// Mean difference of horizontally adjacent pixels.
    fn edges(picture: &RgbImage) -> f64 {
        let row = |y| (1..picture.width()).map(move |x| (x, y));
        let all = (0..picture.height()).flat_map(row);
        let differences = all.map(|(x, y)| {
            f64::from(picture.get_pixel(x, y).0[0].abs_diff(picture.get_pixel(x - 1, y).0[0]))
        });
        differences.sum::<f64>() / f64::from(picture.width() * picture.height())
    }

    #[test]
    fn each_change_does_what_it_says() {
        let turned = changed(Corruption::Turn);
        assert_eq!(turned.dimensions(), (20, 40));
        // The lower left corner moves to the upper left.
        assert_eq!(turned.get_pixel(0, 0), picture().get_pixel(0, 19));
        assert_eq!(changed(Corruption::Dark).get_pixel(0, 0).0, [50, 10, 3]);
        assert!(edges(&changed(Corruption::Blur)) < 0.98 * edges(&picture()));
        let compressed = changed(Corruption::Jpeg);
        assert_eq!(compressed.dimensions(), (40, 20));
        assert_ne!(compressed, picture());
    }

    #[test]
    fn wear_is_a_share_of_a_change_and_keeps_the_shape() {
        for change in TRUE_TO_TEXT {
            let by = |share| change.apply(picture(), share).unwrap().decode().unwrap();
            let far = |changed: RgbImage| {
                let both = changed.iter().zip(picture().into_raw());
                both.map(|(a, b)| u64::from(a.abs_diff(b))).sum::<u64>()
            };
            let (none, most, whole) = (far(by(0.0)), far(by(0.8)), far(by(1.0)));
            assert!(
                none < most && most < whole,
                "{change:?} {none} {most} {whole}"
            );
        }
        // Every corruption is selected, up to the last draw.
        let mut sums = [0.0, 0.4, 0.999].map(|first| {
            let mut draws = [first, 0.999].into_iter();
            let worn = corrupt(picture(), || draws.next().unwrap()).unwrap();
            assert_eq!(worn.dimensions(), (40, 20));
            worn.iter().map(|v| u64::from(*v)).sum::<u64>()
        });
        sums.sort_unstable();
        assert!(sums[0] < sums[1] && sums[1] < sums[2], "{sums:?}");
    }

    #[test]
    fn a_changed_dataset_keeps_all_but_the_pictures() {
        let data: Arc<dyn Dataset> = Arc::new(Synthetic::new(8, 16, 0));
        let dark = Corruption::Dark.of(Arc::clone(&data));
        assert_eq!(dark.fingerprint(), data.fingerprint());
        let read = |data: &dyn Dataset| data.load(0).unwrap().read(3).unwrap();
        let (before, after) = (read(data.as_ref()), read(dark.as_ref()));
        assert_eq!((before.key, before.caption), (after.key, after.caption));
        let sum = |picture: &Picture| {
            let pixels = picture.decode().unwrap();
            pixels.iter().map(|v| u64::from(*v)).sum::<u64>()
        };
        let (before, after) = (sum(&before.picture), sum(&after.picture));
        assert!(after < before / 3 && after > before / 5, "{before} {after}");
    }
}
