//! An image of any size to the square that the image encoder reads.

use ::image::imageops::replace;
use ::image::{Rgb, RgbImage};
use serde::{Deserialize, Serialize};

use super::area;
use super::crop::Window;
use super::pillow::{self, PillowFilter};
use super::resize::{Region, bicubic_region, check, lanczos4};
use crate::defaults::is_default;
use crate::error::Result;

/// How an image that is not square becomes one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResizeMode {
    /// Resizes the shorter side to `size`, then crops the centre. The aspect ratio is kept, the
    /// ends are lost. Equals torchvision's `Resize(size)` and `CenterCrop(size)` with bicubic
    /// resampling; notation 3.5 and trap 43.
    #[default]
    CentreCrop,
    /// Resizes the central square, whose side is `size / (size + 32)` of the shorter side, to
    /// `size`. The aspect ratio is kept, a margin on every side is lost. Bicubic. The evaluation
    /// crop of EfficientNet.
    InnerCrop,
    /// Resizes both sides to `size`. Everything is visible, the aspect ratio is lost. Bicubic.
    Squeeze,
    /// Resizes the longer side to `size` (also enlarging) and centres the result on white.
    /// Everything is visible, the aspect ratio is kept. By area when shrinking, Lanczos with four
    /// lobes when enlarging; notation 5.2.
    WhitePad,
}

/// The arithmetic of resizing; does not matter for [`ResizeMode::WhitePad`], which has its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resampling {
    /// Bicubic with weights of 16 bits, as torchvision resizes tensors of bytes; within one level
    /// of Pillow in each pass.
    #[default]
    Bicubic,
    /// Pillow's `BICUBIC`, to the bit.
    PillowBicubic,
    /// Pillow's `BILINEAR`, to the bit.
    PillowBilinear,
}

impl Resampling {
    fn pillow(self) -> Option<PillowFilter> {
        match self {
            Self::Bicubic => None,
            Self::PillowBicubic => Some(PillowFilter::Bicubic),
            Self::PillowBilinear => Some(PillowFilter::Bilinear),
        }
    }
}

/// Where a centre crop begins if an odd number of pixels is cut from a side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CropOffset {
    /// At half of them, rounded to the even neighbour, as torchvision does.
    #[default]
    HalfToEven,
    /// At half of them, rounded down, as image processors of `transformers` that use Pillow do.
    Down,
}

impl CropOffset {
    /// Returns the first pixel to keep when `excess` pixels are cut.
    fn of(self, excess: u64) -> u64 {
        match self {
            Self::HalfToEven => (excess as f64 / 2.0).round_ties_even() as u64,
            Self::Down => excess / 2,
        }
    }
}

/// The preprocessing of a model; part of its configuration and of a bundle's manifest.
///
/// Pixel values stay bytes; the mean is subtracted inside the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preprocess {
    /// Side of the square in pixels, at least 1.
    pub size: u32,
    /// How to make the image square.
    pub resize: ResizeMode,
    /// Arithmetic of resizing.
    #[serde(default, skip_serializing_if = "is_default")]
    pub resampling: Resampling,
    /// Where a centre crop begins.
    #[serde(default, skip_serializing_if = "is_default")]
    pub crop_offset: CropOffset,
}

impl Preprocess {
    /// Returns the preprocessing with this resize mode and the default arithmetic.
    #[must_use]
    pub fn new(size: u32, resize: ResizeMode) -> Self {
        Self {
            size,
            resize,
            resampling: Resampling::default(),
            crop_offset: CropOffset::default(),
        }
    }

    /// Preprocesses an image; the result is `size` x `size`.
    ///
    /// # Errors
    /// [`crate::CoreError::Image`] for an image without pixels, [`crate::CoreError::Config`] for a
    /// `size` of 0.
    pub fn apply(&self, img: &RgbImage) -> Result<RgbImage> {
        let size = self.size;
        check(img, size, size)?;
        let Some(region) = self.region(img) else {
            return white_pad(img, size);
        };
        let Some(filter) = self.resampling.pillow() else {
            return bicubic_region(img, region, size, size);
        };
        if self.resize == ResizeMode::CentreCrop {
            // Pillow resizes the whole image before it is cropped.
            let CentreCrop { resized, window } = CentreCrop::of(img.dimensions(), self);
            return pillow::resize(img, Region::full(img), resized, window, filter);
        }
        let all = Window {
            left: 0,
            top: 0,
            width: size,
            height: size,
        };
        pillow::resize(img, region, (size, size), all, filter)
    }

    /// Returns the part of an image that the square shows, in its pixels; `None` with padding.
    fn region(&self, img: &RgbImage) -> Option<Region> {
        let sides = img.dimensions();
        match self.resize {
            ResizeMode::CentreCrop => Some(CentreCrop::of(sides, self).region(sides)),
            ResizeMode::InnerCrop => Some(inner_region(sides, self.size)),
            ResizeMode::Squeeze => Some(Region::full(img)),
            ResizeMode::WhitePad => None,
        }
    }

    /// Returns which part of an image the square shows: left, top, right and bottom as fractions of
    /// its sides. A square with padding shows more than the image: some edges are then below 0 and
    /// above 1.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub fn visible(&self, img: &RgbImage) -> Result<[f32; 4]> {
        check(img, self.size, self.size)?;
        let (width, height) = img.dimensions();
        let long = f64::from(width.max(height));
        let (w, h) = (f64::from(width), f64::from(height));
        let region = self.region(img).unwrap_or(Region {
            left: (w - long) / 2.0,
            top: (h - long) / 2.0,
            width: long,
            height: long,
        });
        let (right, bottom) = (region.left + region.width, region.top + region.height);
        Ok([region.left / w, region.top / h, right / w, bottom / h].map(|edge| edge as f32))
    }
}

/// A centre crop: the size that the whole image is resized to, and the square that is kept.
struct CentreCrop {
    resized: (u32, u32),
    window: Window,
}

impl CentreCrop {
    fn of((width, height): (u32, u32), preprocess: &Preprocess) -> Self {
        let size = preprocess.size;
        let short = u64::from(width.min(height));
        let resized = |side: u32| {
            let resized = u64::from(size) * u64::from(side) / short;
            u32::try_from(resized).unwrap_or(u32::MAX)
        };
        let resized = (resized(width), resized(height));
        let offset = |side: u32| preprocess.crop_offset.of(u64::from(side - size)) as u32;
        Self {
            resized,
            window: Window {
                left: offset(resized.0),
                top: offset(resized.1),
                width: size,
                height: size,
            },
        }
    }

    /// Returns the part of the image that is kept, in its pixels.
    fn region(&self, (width, height): (u32, u32)) -> Region {
        let along = |side: u32, resized: u32, first: u32, count: u32| {
            let scale = f64::from(side) / f64::from(resized);
            (f64::from(first) * scale, f64::from(count) * scale)
        };
        let Window { left, top, .. } = self.window;
        let (left, region_width) = along(width, self.resized.0, left, self.window.width);
        let (top, region_height) = along(height, self.resized.1, top, self.window.height);
        Region {
            left,
            top,
            width: region_width,
            height: region_height,
        }
    }
}

/// Returns the part of an image that an inner crop keeps, in its pixels.
fn inner_region((width, height): (u32, u32), size: u32) -> Region {
    /// Pixels lost in total along a side, if the shorter side of the image is `size + 32`.
    const MARGIN: f64 = 32.0;
    let (width, height, size) = (f64::from(width), f64::from(height), f64::from(size));
    let side = width.min(height) * size / (size + MARGIN);
    Region {
        left: (width - side) / 2.0,
        top: (height - side) / 2.0,
        width: side,
        height: side,
    }
}

fn white_pad(img: &RgbImage, size: u32) -> Result<RgbImage> {
    let long = img.width().max(img.height());
    let scale = f64::from(size) / f64::from(long);
    let resized = |side: u32| {
        if side == long {
            return size;
        }
        ((f64::from(side) * scale).round_ties_even() as u32).clamp(1, size)
    };
    let (width, height) = (resized(img.width()), resized(img.height()));
    let inner = match long.cmp(&size) {
        std::cmp::Ordering::Greater => area::shrink(img, width, height)?,
        std::cmp::Ordering::Equal => img.clone(),
        std::cmp::Ordering::Less => lanczos4(img, width, height)?,
    };
    if (width, height) == (size, size) {
        return Ok(inner);
    }
    let mut canvas = RgbImage::from_pixel(size, size, Rgb([255; 3]));
    let (left, top) = ((size - width) / 2, (size - height) / 2);
    replace(&mut canvas, &inner, i64::from(left), i64::from(top));
    Ok(canvas)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODES: [ResizeMode; 4] = [
        ResizeMode::CentreCrop,
        ResizeMode::InnerCrop,
        ResizeMode::Squeeze,
        ResizeMode::WhitePad,
    ];

    /// Left third red, middle green, right third blue.
    fn flag(width: u32, height: u32) -> RgbImage {
        RgbImage::from_fn(width, height, |x, _| {
            let mut colour = [0; 3];
            colour[(x * 3 / width) as usize] = 255;
            Rgb(colour)
        })
    }

    #[test]
    fn an_inner_crop_removes_a_margin_on_every_side() {
        // Of 100 x 64 pixels, at size 32, the middle 32 x 32: no pixel is interpolated.
        let img = RgbImage::from_fn(100, 64, |x, y| Rgb([x as u8, y as u8, 0]));
        let out = Preprocess::new(32, ResizeMode::InnerCrop)
            .apply(&img)
            .unwrap();
        for (x, y, pixel) in out.enumerate_pixels() {
            assert_eq!(pixel, &Rgb([x as u8 + 34, y as u8 + 16, 0]));
        }
    }

    #[test]
    fn the_visible_part_is_what_the_square_shows() {
        let visible = |resize, (width, height)| {
            let img = RgbImage::new(width, height);
            Preprocess::new(32, resize).visible(&img).unwrap()
        };
        let centre = visible(ResizeMode::CentreCrop, (90, 30));
        assert!((centre[0] - 1.0 / 3.0).abs() < 0.02 && (centre[2] - 2.0 / 3.0).abs() < 0.02);
        assert_eq!((centre[1], centre[3]), (0.0, 1.0));
        assert_eq!(
            visible(ResizeMode::InnerCrop, (100, 64)),
            [0.34, 0.25, 0.66, 0.75]
        );
        assert_eq!(visible(ResizeMode::Squeeze, (9, 3)), [0.0, 0.0, 1.0, 1.0]);
        assert_eq!(
            visible(ResizeMode::WhitePad, (90, 30)),
            [0.0, -1.0, 1.0, 2.0]
        );
    }

    #[test]
    fn an_image_of_the_right_size_is_unchanged() {
        let img = flag(33, 33);
        for resize in MODES.into_iter().filter(|m| *m != ResizeMode::InnerCrop) {
            assert_eq!(Preprocess::new(33, resize).apply(&img).unwrap(), img);
        }
    }

    #[test]
    fn extreme_shapes_cost_no_more_than_others() {
        for img in [
            flag(30_000, 1),
            RgbImage::new(1, 30_000),
            RgbImage::new(1, 1),
            flag(5, 3),
        ] {
            for resize in MODES {
                let out = Preprocess::new(224, resize).apply(&img).unwrap();
                assert_eq!(out.dimensions(), (224, 224), "{resize:?}");
            }
        }
    }

    #[test]
    fn invalid_inputs_are_errors() {
        for resize in MODES {
            let zero = Preprocess::new(0, resize).apply(&flag(5, 5)).unwrap_err();
            assert!(
                zero.to_string().contains("size must be at least 1 pixel"),
                "{zero}"
            );
            let empty = Preprocess::new(8, resize)
                .apply(&RgbImage::new(5, 0))
                .unwrap_err();
            assert!(empty.to_string().contains("no pixels (5 x 0)"), "{empty}");
        }
    }

    #[test]
    fn the_configuration_is_written_in_snake_case() {
        let preprocess = Preprocess::new(64, ResizeMode::CentreCrop);
        let text = serde_json::to_string(&preprocess).unwrap();
        assert_eq!(text, r#"{"size":64,"resize":"centre_crop"}"#);
        assert_eq!(
            serde_json::from_str::<Preprocess>(&text).unwrap(),
            preprocess
        );
        assert!(serde_json::from_str::<Preprocess>(r#"{"size":64,"resize":"crop"}"#).is_err());
    }
}
