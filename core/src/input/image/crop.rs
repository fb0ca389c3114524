//! Regions of an image: boxes of a data set, and random crops for training.

use ::image::RgbImage;

use super::resize::bicubic;
use crate::error::Result;

/// Crops a box given in fractions of the sides: left, top, right, bottom.
///
/// Edges are truncated to whole pixels and clamped to the image, as in notation 5.2 for GRIT's
/// boxes. Returns `None` if nothing is left (an empty or reversed box, one outside the image, or
/// one that is not a number).
pub fn crop_box(img: &RgbImage, rel: [f32; 4]) -> Option<RgbImage> {
    let [left, top, right, bottom] = rel;
    let (width, height) = img.dimensions();
    let (left, right) = (edge(left, width)?, edge(right, width)?);
    let (top, bottom) = (edge(top, height)?, edge(bottom, height)?);
    let window = Window {
        left,
        top,
        width: right.checked_sub(left).filter(|&w| w > 0)?,
        height: bottom.checked_sub(top).filter(|&h| h > 0)?,
    };
    Some(window.crop(img))
}

/// Converts a fraction to a pixel. Data sets compute fractions from pixels in double precision;
/// half a unit in the last place of the f32 is added, so that an edge on a whole pixel stays there.
fn edge(fraction: f32, side: u32) -> Option<u32> {
    if fraction.is_nan() {
        return None;
    }
    let half_unit = f64::from(f32::EPSILON) / 4.0;
    let pixel = (f64::from(fraction) + half_unit) * f64::from(side);
    Some((pixel.max(0.0) as u32).min(side))
}

/// A rectangle of whole pixels inside an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// First column.
    pub left: u32,
    /// First row.
    pub top: u32,
    /// Columns, at least 1.
    pub width: u32,
    /// Rows, at least 1.
    pub height: u32,
}

impl Window {
    /// Returns the pixels of the window; parts outside the image are clipped.
    pub fn crop(&self, img: &RgbImage) -> RgbImage {
        let (left, top) = (self.left.min(img.width()), self.top.min(img.height()));
        let width = self.width.min(img.width() - left);
        let height = self.height.min(img.height() - top);
        let mut out = RgbImage::new(width, height);
        if width > 0 {
            // Copying rows is much faster than copying pixels.
            let columns = left as usize * 3..(left + width) as usize * 3;
            let rows = img
                .as_raw()
                .chunks_exact(img.width() as usize * 3)
                .skip(top as usize);
            for (target, row) in out.chunks_exact_mut(width as usize * 3).zip(rows) {
                target.copy_from_slice(&row[columns.clone()]);
            }
        }
        out
    }
}

/// Random crop for training: a window of random area and aspect ratio, resized to a square.
///
/// Up to ten attempts draw an area uniform in `scale` (fractions of the image's area) and a
/// width-to-height ratio log-uniform in `ratio`. If none fits, the largest centred window with an
/// allowed ratio is used. This is torchvision's `RandomResizedCrop`; notation section 4 and trap
/// 44. The same random numbers give the same crop.
///
/// ```
/// use espalier_core::input::RandomCrop;
///
/// let mut draws = [0.5, 0.5, 0.0, 1.0].into_iter().cycle();
/// let window = RandomCrop::default().window(100, 100, || draws.next().unwrap_or(0.0));
/// assert_eq!((window.width, window.height), (87, 87)); // 3/4 of the area, square
/// assert_eq!((window.left, window.top), (13, 0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomCrop {
    /// Smallest and largest fraction of the area, 0 < smallest <= largest <= 1.
    pub scale: (f32, f32),
    /// Smallest and largest ratio of width to height, 0 < smallest <= largest.
    pub ratio: (f32, f32),
}

impl Default for RandomCrop {
    /// Returns the training recipe of notation section 4: half to all of the area, 3:4 to 4:3.
    fn default() -> Self {
        Self {
            scale: (0.5, 1.0),
            ratio: (3.0 / 4.0, 4.0 / 3.0),
        }
    }
}

impl RandomCrop {
    const ATTEMPTS: usize = 10;

    /// Draws a window. `uniform` returns numbers in \[0, 1); each attempt takes two, and the final
    /// window two more (row, then column).
    ///
    /// Invalid ranges (negative, reversed, not numbers) give the centred window.
    pub fn window(&self, width: u32, height: u32, mut uniform: impl FnMut() -> f32) -> Window {
        let (w, h) = (f64::from(width), f64::from(height));
        let mut between = |(low, high): (f64, f64)| low + (high - low) * f64::from(uniform());
        let scale = (f64::from(self.scale.0), f64::from(self.scale.1));
        let log_ratio = (f64::from(self.ratio.0).ln(), f64::from(self.ratio.1).ln());
        for _ in 0..Self::ATTEMPTS {
            let area = w * h * between(scale);
            let ratio = between(log_ratio).exp();
            let crop_width = (area * ratio).sqrt().round_ties_even();
            let crop_height = (area / ratio).sqrt().round_ties_even();
            let fits = (1.0..=w).contains(&crop_width) && (1.0..=h).contains(&crop_height);
            if fits {
                let (crop_width, crop_height) = (crop_width as u32, crop_height as u32);
                let top = position(height - crop_height, between((0.0, 1.0)));
                let left = position(width - crop_width, between((0.0, 1.0)));
                return Window {
                    left,
                    top,
                    width: crop_width,
                    height: crop_height,
                };
            }
        }
        self.centred(width, height)
    }

    /// Returns the largest centred window whose ratio is within bounds.
    fn centred(&self, width: u32, height: u32) -> Window {
        let (w, h) = (f64::from(width), f64::from(height));
        let (least, greatest) = (f64::from(self.ratio.0), f64::from(self.ratio.1));
        let (mut crop_width, mut crop_height) = (width, height);
        if w / h < least {
            crop_height = ((w / least).round_ties_even() as u32).clamp(1, height.max(1));
        } else if w / h > greatest {
            crop_width = ((h * greatest).round_ties_even() as u32).clamp(1, width.max(1));
        }
        let left = width.saturating_sub(crop_width) / 2;
        let top = height.saturating_sub(crop_height) / 2;
        Window {
            left,
            top,
            width: crop_width,
            height: crop_height,
        }
    }

    /// Draws a window, crops it and resizes it to `size` x `size` (bicubic, anti-aliased).
    ///
    /// # Errors
    /// [`crate::CoreError::Image`] for an image without pixels, [`crate::CoreError::Config`] for a
    /// `size` of 0.
    pub fn apply(
        &self,
        img: &RgbImage,
        size: u32,
        uniform: impl FnMut() -> f32,
    ) -> Result<RgbImage> {
        let window = self.window(img.width(), img.height(), uniform);
        // Crop first: the filter must not read pixels outside the crop.
        bicubic(&window.crop(img), size, size)
    }
}

/// Returns one of the `room + 1` positions.
fn position(room: u32, share: f64) -> u32 {
    ((share * (f64::from(room) + 1.0)) as u32).min(room)
}

#[cfg(test)]
mod tests {
    use ::image::Rgb;
    use proptest::prelude::*;

    use super::*;

    fn window([left, top]: [u32; 2], [width, height]: [u32; 2]) -> Window {
        Window {
            left,
            top,
            width,
            height,
        }
    }

    fn numbered(width: u32, height: u32) -> RgbImage {
        RgbImage::from_fn(width, height, |x, y| Rgb([x as u8, y as u8, 0]))
    }

    #[test]
    fn box_edges_are_truncated_to_pixels() {
        let crop = crop_box(&numbered(10, 20), [0.19, 0.0, 0.79, 0.49]).unwrap();
        assert_eq!(crop.dimensions(), (6, 9));
        assert_eq!(crop.get_pixel(0, 0), &Rgb([1, 0, 0]));
        assert_eq!(crop.get_pixel(5, 8), &Rgb([6, 8, 0]));
    }

    #[test]
    fn whole_pixel_edges_survive_a_round_trip() {
        for side in [7_u32, 64, 333, 640, 1023, 4000] {
            for pixel in 0..=side {
                let fraction = (f64::from(pixel) / f64::from(side)) as f32;
                assert_eq!(edge(fraction, side), Some(pixel), "{pixel} of {side}");
            }
        }
    }

    #[test]
    fn boxes_are_clamped_to_the_image() {
        let img = numbered(4, 4);
        assert_eq!(crop_box(&img, [-3.0, -0.1, 9.0, 1.5]).unwrap(), img);
        assert_eq!(
            crop_box(&img, [f32::NEG_INFINITY, 0.0, f32::INFINITY, 1.0]).unwrap(),
            img
        );
    }

    #[test]
    fn boxes_without_a_pixel_are_none() {
        let img = numbered(4, 4);
        for rel in [
            [0.5, 0.0, 0.5, 1.0],
            [0.0, 0.9, 1.0, 0.1],
            [0.3, 0.3, 0.4, 0.4],
            [1.2, 0.0, 1.4, 1.0],
            [0.0, f32::NAN, 1.0, 1.0],
        ] {
            assert_eq!(crop_box(&img, rel), None, "{rel:?}");
        }
    }

    #[test]
    fn a_window_beyond_the_edge_is_clipped() {
        let window = |left, top| window([left, top], [3, 2]);
        let img = numbered(4, 4);
        assert_eq!(
            window(2, 1).crop(&img).into_raw(),
            [2, 1, 0, 3, 1, 0, 2, 2, 0, 3, 2, 0]
        );
        assert_eq!(window(9, 3).crop(&img).dimensions(), (0, 1));
        assert_eq!(window(0, 9).crop(&img).dimensions(), (3, 0));
    }

    #[test]
    fn the_largest_crop_is_the_whole_square() {
        let whole = RandomCrop {
            scale: (1.0, 1.0),
            ratio: (1.0, 1.0),
        };
        assert_eq!(whole.window(48, 48, || 0.7), window([0, 0], [48, 48]));
    }

    #[test]
    fn after_ten_failures_the_centre_is_used() {
        // A square of the full area cannot fit into these images, whatever is drawn.
        let square = RandomCrop {
            scale: (1.0, 1.0),
            ratio: (1.0, 1.0),
        };
        let mut draws = 0;
        let wide = square.window(100, 31, || {
            draws += 1;
            0.5
        });
        assert_eq!(draws, 20);
        assert_eq!(wide, window([34, 0], [31, 31]));
        assert_eq!(square.window(10, 31, || 0.5), window([0, 10], [10, 10]));
        let allowed = RandomCrop {
            scale: (2.0, 2.0),
            ratio: (0.5, 2.0),
        };
        assert_eq!(allowed.window(30, 20, || 0.5), window([0, 0], [30, 20]));
    }

    #[test]
    fn invalid_ranges_do_not_panic() {
        let nan = f32::NAN;
        for scale in [(nan, nan), (-1.0, -1.0), (0.0, 0.0), (1e30, f32::INFINITY)] {
            for ratio in [(nan, 1.0), (-1.0, 1.0), (0.0, 0.0), (f32::INFINITY, 1.0)] {
                let window = RandomCrop { scale, ratio }.window(30, 20, || 0.99);
                assert!(
                    window.width >= 1 && window.height >= 1,
                    "{scale:?} {ratio:?}"
                );
                assert!(window.left + window.width <= 30 && window.top + window.height <= 20);
            }
        }
    }

    #[test]
    fn crops_are_resized_to_the_requested_size() {
        let img = RgbImage::from_pixel(37, 21, Rgb([9, 90, 200]));
        let crop = RandomCrop::default().apply(&img, 16, || 0.3).unwrap();
        assert_eq!(crop, RgbImage::from_pixel(16, 16, Rgb([9, 90, 200])));
    }

    proptest! {
        #[test]
        fn windows_lie_inside_and_keep_area_and_shape(
            width in 40_u32..800,
            height in 40_u32..800,
            draws in proptest::collection::vec(0.0_f32..1.0, 24),
        ) {
            let crop = RandomCrop::default();
            let mut used = 0;
            let w = crop.window(width, height, || { used += 1; draws[used - 1] });
            prop_assert!(w.left + w.width <= width && w.top + w.height <= height);
            if used < 20 {
                let area = f64::from(w.width) * f64::from(w.height);
                let share = area / (f64::from(width) * f64::from(height));
                prop_assert!((0.47..=1.0).contains(&share), "share {share}");
                let ratio = f64::from(w.width) / f64::from(w.height);
                prop_assert!((0.72..=1.39).contains(&ratio), "ratio {ratio}");
            }
            let mut again = draws.iter();
            let same = crop.window(width, height, || *again.next().unwrap());
            prop_assert_eq!(w, same);
        }
    }
}
