//! The two frames of a photo: as its pixels are stored, and upright, as [`decode()`](super::decode()) gives it.

use ::image::metadata::Orientation;

/// Size and orientation of a photo, from its headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Width and height of the stored pixels.
    pub stored: (u32, u32),
    pub(super) orientation: Orientation,
}

impl Frame {
    /// Returns width and height of the upright photo.
    #[must_use]
    pub fn upright(&self) -> (u32, u32) {
        let (width, height) = self.stored;
        match self.orientation {
            Orientation::Rotate90
            | Orientation::Rotate270
            | Orientation::Rotate90FlipH
            | Orientation::Rotate270FlipH => (height, width),
            _ => (width, height),
        }
    }

    /// Returns whether the stored pixels are turned or mirrored.
    #[must_use]
    pub fn is_turned(&self) -> bool {
        self.orientation != Orientation::NoTransforms
    }

    /// Converts a box (left, top, right, bottom, relative to the sides) from the stored frame to the upright one.
    #[must_use]
    pub fn upright_box(&self, stored: [f64; 4]) -> [f64; 4] {
        let turned = |x: f64, y: f64| match self.orientation {
            Orientation::NoTransforms => [x, y],
            Orientation::FlipHorizontal => [1.0 - x, y],
            Orientation::FlipVertical => [x, 1.0 - y],
            Orientation::Rotate180 => [1.0 - x, 1.0 - y],
            Orientation::Rotate90 => [1.0 - y, x],
            Orientation::Rotate270 => [y, 1.0 - x],
            Orientation::Rotate90FlipH => [y, x],
            Orientation::Rotate270FlipH => [1.0 - y, 1.0 - x],
        };
        let [left, top, right, bottom] = stored;
        let ([ax, ay], [bx, by]) = (turned(left, top), turned(right, bottom));
        [ax.min(bx), ay.min(by), ax.max(bx), ay.max(by)]
    }
}

#[cfg(test)]
mod tests {
    use ::image::{Rgb, RgbImage};

    use super::super::orient;
    use super::*;

    #[test]
    fn a_box_moves_with_the_pixels_that_it_encloses() {
        let (width, height) = (8, 4);
        let is_inside = |x: u32, y: u32| (1..3).contains(&x) && (2..3).contains(&y);
        let stored = RgbImage::from_fn(width, height, |x, y| {
            Rgb([if is_inside(x, y) { 255 } else { 0 }; 3])
        });
        for flag in 1..=8 {
            let orientation = Orientation::from_exif(flag).unwrap();
            let frame = Frame {
                stored: (width, height),
                orientation,
            };
            let upright = orient::apply(stored.clone(), orientation);
            assert_eq!(upright.dimensions(), frame.upright());
            let (w, h) = upright.dimensions();
            let [left, top, right, bottom] = frame.upright_box([1.0 / 8.0, 0.5, 3.0 / 8.0, 0.75]);
            for (x, y, pixel) in upright.enumerate_pixels() {
                let (u, v) = (
                    (f64::from(x) + 0.5) / f64::from(w),
                    (f64::from(y) + 0.5) / f64::from(h),
                );
                let inside = (left..right).contains(&u) && (top..bottom).contains(&v);
                assert_eq!(inside, pixel[0] == 255, "flag {flag}, pixel {x}, {y}");
            }
        }
    }
}
