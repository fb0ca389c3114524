//! Image corruptions of careless photography, used to measure the robustness of a model.

use std::sync::Arc;

use clap::ValueEnum;
use image::RgbImage;
use image::codecs::jpeg::JpegEncoder;
use image::imageops::{blur, rotate90};

use crate::records::fault::{Broken, Cause, Fault};
use crate::records::record_image::RecordImage;
use crate::records::source::{Dataset, Record, Records, Unit};
use crate::records::walk::LeftOut;

/// Standard deviation of the blur as a fraction of the shorter side: 1.25 pixels for 64.
const BLUR_SIGMA: f32 = 0.02;
/// JPEG quality: low enough for clearly visible block artefacts.
const JPEG_QUALITY: u8 = 10;
/// Factor applied to the stored values when darkening.
const DARK_FACTOR: f32 = 0.25;

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

/// Corruptions after which all texts of an image are still true, including those about positions.
const LABEL_PRESERVING: [Corruption; 3] = [Corruption::Blur, Corruption::Jpeg, Corruption::Dark];

/// Applies a random label-preserving corruption at a random strength, up to the strength used for
/// evaluation. Takes two draws from [0, 1).
///
/// # Errors
/// Fails as [`Corruption::apply`] does.
pub(crate) fn corrupt(
    image: RgbImage,
    mut uniform: impl FnMut() -> f32,
) -> Result<RgbImage, Fault> {
    let index = (uniform() * LABEL_PRESERVING.len() as f32) as usize;
    let corruption = LABEL_PRESERVING[index.min(LABEL_PRESERVING.len() - 1)];
    corruption.apply(image, uniform())?.decode()
}

impl Corruption {
    /// Returns the image corrupted at a `strength` in [0, 1]. [`Corruption::Turn`] ignores the
    /// strength and always turns by 90 degrees.
    ///
    /// # Errors
    /// If JPEG encoding fails, for example for an image with a side above 65,535 pixels.
    pub fn apply(self, mut image: RgbImage, strength: f32) -> Result<RecordImage, Fault> {
        let pixels = match self {
            Self::Blur => {
                let sigma = strength * BLUR_SIGMA * image.width().min(image.height()) as f32;
                // Below this, neighbours have no effect, and kernel weights overflow for sigma near
                // 0.
                if sigma < 0.05 {
                    image
                } else {
                    blur(&image, sigma)
                }
            }
            Self::Jpeg => {
                let mut bytes = Vec::new();
                let quality = 100.0 - strength * (100.0 - f32::from(JPEG_QUALITY));
                JpegEncoder::new_with_quality(&mut bytes, quality.round() as u8)
                    .encode_image(&image)
                    .map_err(|e| Fault::new(Cause::UnreadableImage, e.to_string()))?;
                return Ok(RecordImage::Encoded(bytes));
            }
            Self::Turn => rotate90(&image),
            Self::Dark => {
                let factor = 1.0 - strength * (1.0 - DARK_FACTOR);
                image
                    .iter_mut()
                    .for_each(|value| *value = (f32::from(*value) * factor).round() as u8);
                image
            }
        };
        Ok(RecordImage::Decoded(pixels))
    }

    /// Wraps a dataset so that its whole images are corrupted. The boxes remain valid only for
    /// corruptions that keep the image geometry.
    pub fn wrap(self, data: Arc<dyn Dataset>) -> Arc<dyn Dataset> {
        Arc::new(CorruptedDataset {
            data,
            corruption: self,
        })
    }
}

struct CorruptedDataset {
    data: Arc<dyn Dataset>,
    corruption: Corruption,
}

impl Dataset for CorruptedDataset {
    fn units(&self) -> &[Unit] {
        self.data.units()
    }

    fn shard_name(&self, shard: u32) -> &str {
        self.data.shard_name(shard)
    }

    fn left_out(&self) -> LeftOut {
        self.data.left_out()
    }

    fn load(&self, unit: usize) -> Result<Box<dyn Records>, Broken> {
        let records = self.data.load(unit)?;
        let corruption = self.corruption;
        Ok(Box::new(CorruptedRecords {
            records,
            corruption,
        }))
    }

    fn weight(&self, unit: usize) -> f64 {
        self.data.weight(unit)
    }
}

struct CorruptedRecords {
    records: Box<dyn Records>,
    corruption: Corruption,
}

impl Records for CorruptedRecords {
    fn read(&self, row: usize) -> Result<Record, Broken> {
        let mut record = self.records.read(row)?;
        let corrupted = record
            .image
            .decode()
            .and_then(|p| self.corruption.apply(p, 1.0));
        record.image = corrupted.map_err(|fault| fault.of(&record.key))?;
        Ok(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Synthetic;

    fn image() -> RgbImage {
        RgbImage::from_fn(40, 20, |x, y| {
            let on = (x / 4 + y / 4) % 2 == 0;
            image::Rgb(if on { [200, 40, 12] } else { [10, 90, 240] })
        })
    }

    fn corrupted(corruption: Corruption) -> RgbImage {
        corruption.apply(image(), 1.0).unwrap().decode().unwrap()
    }

    /// Returns the mean difference of horizontally adjacent pixels.
    fn edges(image: &RgbImage) -> f64 {
        let row = |y| (1..image.width()).map(move |x| (x, y));
        let all = (0..image.height()).flat_map(row);
        let differences = all.map(|(x, y)| {
            f64::from(image.get_pixel(x, y).0[0].abs_diff(image.get_pixel(x - 1, y).0[0]))
        });
        differences.sum::<f64>() / f64::from(image.width() * image.height())
    }

    #[test]
    fn each_corruption_has_its_effect() {
        let turned = corrupted(Corruption::Turn);
        assert_eq!(turned.dimensions(), (20, 40));
        // The lower left corner moves to the upper left.
        assert_eq!(turned.get_pixel(0, 0), image().get_pixel(0, 19));
        assert_eq!(corrupted(Corruption::Dark).get_pixel(0, 0).0, [50, 10, 3]);
        assert!(edges(&corrupted(Corruption::Blur)) < 0.98 * edges(&image()));
        let compressed = corrupted(Corruption::Jpeg);
        assert_eq!(compressed.dimensions(), (40, 20));
        assert_ne!(compressed, image());
    }

    #[test]
    fn a_stronger_corruption_changes_more_and_keeps_the_size() {
        for corruption in LABEL_PRESERVING {
            let distances = [0.0, 0.8, 1.0].map(|strength| {
                let corrupted = corruption.apply(image(), strength).unwrap();
                let corrupted = corrupted.decode().unwrap().into_raw();
                let pairs = corrupted.into_iter().zip(image().into_raw());
                pairs.map(|(a, b)| u64::from(a.abs_diff(b))).sum::<u64>()
            });
            assert!(
                distances.is_sorted_by(|less, more| less < more),
                "{corruption:?} {distances:?}"
            );
        }
        // Every corruption is selected, up to the last draw.
        let mut sums = [0.0, 0.4, 0.999].map(|first| {
            let mut draws = [first, 0.999].into_iter();
            let pixels = corrupt(image(), || draws.next().unwrap()).unwrap();
            assert_eq!(pixels.dimensions(), (40, 20));
            pixels.iter().map(|v| u64::from(*v)).sum::<u64>()
        });
        sums.sort_unstable();
        assert!(sums[0] < sums[1] && sums[1] < sums[2], "{sums:?}");
    }

    #[test]
    fn a_corrupted_dataset_changes_only_the_images() {
        let data: Arc<dyn Dataset> = Arc::new(Synthetic::new(8, 16, 0));
        let dark = Corruption::Dark.wrap(Arc::clone(&data));
        assert_eq!(dark.fingerprint(), data.fingerprint());
        let read = |data: &dyn Dataset| data.load(0).unwrap().read(3).unwrap();
        let (before, after) = (read(data.as_ref()), read(dark.as_ref()));
        assert_eq!((before.key, before.caption), (after.key, after.caption));
        let sum = |image: &RecordImage| {
            let pixels = image.decode().unwrap();
            pixels.iter().map(|v| u64::from(*v)).sum::<u64>()
        };
        let (before, after) = (sum(&before.image), sum(&after.image));
        assert!(after < before / 3 && after > before / 5, "{before} {after}");
    }
}
