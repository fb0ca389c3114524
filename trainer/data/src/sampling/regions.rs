//! The pixels of a box, and the square that the model reads of an image.

use espalier_core::input::image::Window;
use espalier_core::input::{Preprocess, ResizeMode};
use image::RgbImage;

use crate::batches::batch_spec::BatchSpec;
use crate::records::boxes::{GroundedBox, Region, large_enough, pixel_box};
use crate::records::corruption::corrupt;
use crate::records::fault::{Cause, Fault};
use crate::records::random::Random;

/// Returns whether a box is large enough in an image of this width and height. Crops of prepared
/// shards always are, since they were selected when the shards were made.
pub(crate) fn is_usable(region: &Region, (width, height): (u32, u32), min_box_px: f64) -> bool {
    match region {
        Region::Relative(rel) => large_enough(pixel_box(*rel, width, height), min_box_px),
        Region::Crop(_) => true,
    }
}

/// Keeps the [usable](is_usable) boxes.
pub(crate) fn usable_boxes(
    mut boxes: Vec<GroundedBox>,
    size: (u32, u32),
    min_box_px: f64,
) -> Vec<GroundedBox> {
    boxes.retain(|candidate| is_usable(&candidate.region, size, min_box_px));
    boxes
}

/// Returns the pixels of a box. Training, figures and evaluation all use this function.
///
/// # Errors
/// If a separate crop cannot be read, or the box covers no pixel of this image.
pub(crate) fn crop_region(region: &Region, image: &RgbImage) -> Result<RgbImage, Fault> {
    match region {
        Region::Crop(crop) => crop.decode(),
        Region::Relative(rel) => Ok(window(*rel, image.width(), image.height())?.crop(image)),
    }
}

/// Preprocesses an image for the model.
pub(crate) fn preprocessed(image: &RgbImage, preprocess: &Preprocess) -> Result<RgbImage, Fault> {
    let pixels = preprocess.apply(image);
    pixels.map_err(|e| Fault::new(Cause::UnreadableImage, e.to_string()))
}

/// Returns the pixels that a box covers in an image of this width and height.
pub(super) fn window(rel: [f64; 4], width: u32, height: u32) -> Result<Window, Fault> {
    let [left, top, right, bottom] = pixel_box(rel, width, height);
    let (width, height) = (right.saturating_sub(left), bottom.saturating_sub(top));
    if width == 0 || height == 0 {
        let detail = format!("the box {rel:?} contains no pixel");
        return Err(Fault::new(Cause::UnreadableImage, detail));
    }
    Ok(Window {
        left,
        top,
        width,
        height,
    })
}

/// Converts an image to the square that the model reads; corrupts it with probability `spec.corruption`.
pub(crate) fn encoder_square(
    image: &RgbImage,
    spec: &BatchSpec,
    random: &mut Random,
) -> Result<RgbImage, Fault> {
    let pixels = uncorrupted_square(image, spec, random)?;
    if spec.corruption > 0.0 && random.uniform() < spec.corruption {
        return corrupt(pixels, || random.uniform());
    }
    Ok(pixels)
}

fn uncorrupted_square(
    image: &RgbImage,
    spec: &BatchSpec,
    random: &mut Random,
) -> Result<RgbImage, Fault> {
    let Some(augment) = spec.augment else {
        let resize = match spec.white_pad {
            true => ResizeMode::WhitePad,
            false => ResizeMode::CentreCrop,
        };
        return preprocessed(image, &Preprocess::new(spec.image_size, resize));
    };
    let (width, height) = image.dimensions();
    let padded;
    let image = if spec.white_pad && width != height {
        // Pads at the original resolution, so that pixels are interpolated only once.
        let pad = Preprocess::new(width.max(height), ResizeMode::WhitePad);
        padded = preprocessed(image, &pad)?;
        &padded
    } else {
        image
    };
    let cropped = augment.apply(image, spec.image_size, || random.uniform());
    cropped.map_err(|e| Fault::new(Cause::UnreadableImage, e.to_string()))
}

#[cfg(test)]
mod tests {
    use espalier_core::input::RandomCrop;
    use image::Rgb;

    use super::*;
    use crate::records::random::Purpose;

    fn random() -> Random {
        Random::new(7, Purpose::Outliers, 0, 0)
    }

    fn spec() -> BatchSpec {
        BatchSpec::new(4, 16, 77)
    }

    #[test]
    fn a_square_is_corrupted_if_a_random_number_is_below_the_probability() {
        let image = RgbImage::from_fn(40, 40, |x, y| Rgb([(x * 6) as u8, (y * 6) as u8, 99]));
        let with = |corruption| {
            let spec = BatchSpec {
                corruption,
                ..spec()
            };
            let mut random = random();
            let square = encoder_square(&image, &spec, &mut random).ok().unwrap();
            (square, random.bits())
        };
        let mut random = random();
        let plain = uncorrupted_square(&image, &spec(), &mut random);
        let plain = plain.ok().unwrap();
        // Without corruption, no number is drawn for it.
        assert_eq!(with(0.0), (plain.clone(), random.clone().bits()));
        let number = random.uniform();
        assert_eq!(with(number).0, plain);
        assert_ne!(with(number.next_up()).0, plain);
    }

    #[test]
    fn a_wide_image_is_padded_before_it_is_cropped() {
        let has_white = |width, height, white_pad| {
            let spec = BatchSpec {
                white_pad,
                augment: Some(RandomCrop {
                    scale: (1.0, 1.0),
                    ..RandomCrop::default()
                }),
                ..spec()
            };
            let black = RgbImage::new(width, height);
            let square = uncorrupted_square(&black, &spec, &mut random())
                .ok()
                .unwrap();
            square.pixels().any(|pixel| pixel.0 == [255; 3])
        };
        assert!(has_white(40, 20, true) && has_white(20, 40, true));
        assert!(!has_white(40, 20, false) && !has_white(40, 40, true));
    }

    #[test]
    fn a_box_without_pixels_is_a_fault() {
        assert!(window([0.2, 0.3, 0.8, 0.9], 10, 10).is_ok());
        assert!(window([1.0, 0.3, 1.0, 0.9], 10, 10).is_err());
        assert!(window([0.2, 1.0, 0.8, 1.0], 10, 10).is_err());
    }
}
