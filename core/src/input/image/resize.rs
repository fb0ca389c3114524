//! Resampling as in Pillow: the filter window is widened when shrinking (anti-aliased).

use ::image::RgbImage;
use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::U8x3;
use fast_image_resize::{Filter, FilterType, ResizeAlg, ResizeOptions, Resizer};

use super::raw::{allocate, check_pixels};
use crate::error::{CoreError, Result};

/// A region of an image, in pixels; edges may lie between pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Region {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Region {
    pub(super) fn full(img: &RgbImage) -> Self {
        let (width, height) = (f64::from(img.width()), f64::from(img.height()));
        Self {
            left: 0.0,
            top: 0.0,
            width,
            height,
        }
    }
}

/// Resizes with the bicubic filter (a = -0.5, notation trap 43); within one level of Pillow's
/// `BICUBIC`.
pub(super) fn bicubic(img: &RgbImage, width: u32, height: u32) -> Result<RgbImage> {
    bicubic_region(img, Region::full(img), width, height)
}

/// Resizes a region with the bicubic filter. The pixels are the same as after resizing the whole
/// image and then cropping, but the others are not computed. (For an output of 224 pixels, a
/// panorama of 30000 x 100 would otherwise become one of 67200 x 224.)
pub(super) fn bicubic_region(
    img: &RgbImage,
    region: Region,
    width: u32,
    height: u32,
) -> Result<RgbImage> {
    let kernel = Kernel {
        kind: FilterType::CatmullRom,
        reach: 2.0,
    };
    convolve(img, region, width, height, kernel)
}

/// Resizes with a Lanczos filter of four lobes, for enlarging (notation 5.2).
pub(super) fn lanczos4(img: &RgbImage, width: u32, height: u32) -> Result<RgbImage> {
    let filter = Filter::new("Lanczos4", lanczos4_kernel, LOBES)
        .map_err(|e| CoreError::Image(format!("the image cannot be resized: {e}")))?;
    let kernel = Kernel {
        kind: FilterType::Custom(filter),
        reach: LOBES,
    };
    convolve(img, Region::full(img), width, height, kernel)
}

const LOBES: f64 = 4.0;

/// Returns `sinc(x) sinc(x / 4)` for |x| < 4, else 0.
fn lanczos4_kernel(x: f64) -> f64 {
    let sinc = |x: f64| {
        let x = x * std::f64::consts::PI;
        if x == 0.0 { 1.0 } else { x.sin() / x }
    };
    if x.abs() < LOBES {
        sinc(x) * sinc(x / LOBES)
    } else {
        0.0
    }
}

/// Resizes in two passes, rows first. Both passes round to bytes and clamp overshoot, so their
/// order is visible in sharp images. Pillow (up to version 12) filters rows first, so this does
/// too; the library alone would filter columns first.
fn convolve(
    img: &RgbImage,
    region: Region,
    width: u32,
    height: u32,
    filter: Kernel,
) -> Result<RgbImage> {
    check(img, width, height)?;
    // The rows that the second pass reads, with a margin of one.
    let reach = filter.reach * (region.height / f64::from(height)).max(1.0) + 1.0;
    let first = (region.top - reach).floor().max(0.0);
    let last = (region.top + region.height + reach)
        .ceil()
        .min(f64::from(img.height()));
    let rows = Region {
        top: first,
        height: last - first,
        ..region
    };
    let narrow = pass(img, rows, width, (last - first) as u32, filter.kind)?;
    let columns = Region {
        left: 0.0,
        top: region.top - first,
        width: f64::from(width),
        height: region.height,
    };
    pass(&narrow, columns, width, height, filter.kind)
}

/// A filter and its radius in pixels when not shrinking.
#[derive(Clone, Copy)]
struct Kernel {
    kind: FilterType,
    reach: f64,
}

fn pass(
    img: &RgbImage,
    region: Region,
    width: u32,
    height: u32,
    filter: FilterType,
) -> Result<RgbImage> {
    let (img_width, img_height) = img.dimensions();
    let fail = |e: &dyn std::fmt::Display| {
        CoreError::Image(format!(
            "{img_width} x {img_height} pixels cannot be resized to {width} x {height}: {e}"
        ))
    };
    // Typed, so that a program for the page carries the code of this kind of pixels only.
    let source = TypedImageRef::<U8x3>::from_buffer(img_width, img_height, img.as_raw())
        .map_err(|e| fail(&e))?;
    let mut pixels = allocate(width as usize * height as usize * 3)?;
    let mut target =
        TypedImage::<U8x3>::from_buffer(width, height, &mut pixels).map_err(|e| fail(&e))?;
    let Region { left, top, .. } = region;
    // Rounding errors may place the far edge slightly outside.
    let region_width = region.width.min(f64::from(img_width) - left);
    let region_height = region.height.min(f64::from(img_height) - top);
    let options = ResizeOptions::new()
        .resize_alg(ResizeAlg::Convolution(filter))
        .crop(left, top, region_width, region_height)
        .use_alpha(false);
    Resizer::new()
        .resize_typed(&source, &mut target, &options)
        .map_err(|e| fail(&e))?;
    RgbImage::from_raw(width, height, pixels).ok_or_else(|| fail(&"its pixels are incomplete"))
}

/// Checks that the image has pixels and that the new size is at least 1 x 1.
pub(super) fn check(img: &RgbImage, width: u32, height: u32) -> Result<()> {
    check_pixels(img.width(), img.height())?;
    if width == 0 || height == 0 {
        return Err(CoreError::Config {
            field: "size".into(),
            expected: "at least 1 pixel".into(),
            found: format!("{width} x {height}"),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_one_at_zero_and_zero_at_whole_numbers() {
        assert_eq!(lanczos4_kernel(0.0), 1.0);
        for x in [1.0, 2.0, 3.0, -1.0, 4.0, 17.0] {
            assert!(lanczos4_kernel(x).abs() < 1e-15, "{x}");
        }
        // sinc(1/2) sinc(1/8)
        assert!((lanczos4_kernel(0.5) - 0.620_383_0).abs() < 1e-6);
    }

    #[test]
    fn empty_images_and_empty_sizes_are_errors() {
        let empty = bicubic(&RgbImage::new(0, 5), 4, 4).unwrap_err();
        assert_eq!(empty.to_string(), "image: the image has no pixels (0 x 5)");
        let none = bicubic(&RgbImage::new(5, 5), 0, 4).unwrap_err();
        assert_eq!(
            none.to_string(),
            "configuration: size must be at least 1 pixel, found 0 x 4"
        );
    }
}
