//! Resampling with Pillow's own arithmetic, to the bit: weights in fixed point with 22 bits after the
//! point, rows first, rounded to bytes between the passes (`Resample.c` of Pillow up to version 12;
//! later versions choose the cheaper order of the passes).

use ::image::RgbImage;

use super::crop::Window;
use super::raw::allocate;
use super::resize::{Region, check};
use crate::error::{CoreError, Result};

/// Bits of a weight after the point.
const PRECISION_BITS: u32 = 32 - 8 - 2;

/// Filters of Pillow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PillowFilter {
    /// `BILINEAR`: a triangle.
    Bilinear,
    /// `BICUBIC`, a = -0.5.
    Bicubic,
}

impl PillowFilter {
    /// Half the width of the filter in pixels when not shrinking.
    fn support(self) -> f64 {
        match self {
            Self::Bilinear => 1.0,
            Self::Bicubic => 2.0,
        }
    }

    /// Returns the weight at a distance. The operations are in Pillow's order, so that rounding is
    /// the same.
    fn weight(self, x: f64) -> f64 {
        const A: f64 = -0.5;
        let x = x.abs();
        match self {
            Self::Bilinear if x < 1.0 => 1.0 - x,
            Self::Bicubic if x < 1.0 => ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0,
            Self::Bicubic if x < 2.0 => (((x - 5.0) * x + 8.0) * x - 4.0) * A,
            _ => 0.0,
        }
    }
}

/// Resizes the part `region` of an image to `size` (width, height) and returns a window of the
/// result; the pixels outside the window are not computed.
///
/// # Errors
/// [`CoreError::Image`] for an image without pixels or without memory for the result,
/// [`CoreError::Config`] for a window without pixels.
pub(super) fn resize(
    img: &RgbImage,
    region: Region,
    size: (u32, u32),
    window: Window,
    filter: PillowFilter,
) -> Result<RgbImage> {
    check(img, window.width, window.height)?;
    let columns = Axis {
        side: img.width(),
        from: region.left,
        to: region.left + region.width,
        size: size.0,
    };
    let rows = Axis {
        side: img.height(),
        from: region.top,
        to: region.top + region.height,
        size: size.1,
    };
    let column_taps = columns.taps(window.left, window.width, filter);
    let row_taps = rows.taps(window.top, window.height, filter);
    // Only the rows that the second pass reads.
    let (first, end) = if rows.is_copy() {
        (window.top as usize, (window.top + window.height) as usize)
    } else {
        let first = row_taps.iter().map(|t| t.start).min();
        let end = row_taps.iter().map(Taps::end).max();
        (first.unwrap_or(0), end.unwrap_or(0))
    };
    let row_len = img.width() as usize * 3;
    let narrow_len = window.width as usize * 3;
    let source = &img.as_raw()[first * row_len..end * row_len];
    let narrow = if columns.is_copy() {
        let left = window.left as usize * 3;
        let mut out = allocate(narrow_len * (end - first))?;
        let out_rows = out.chunks_exact_mut(narrow_len);
        for (target, row) in out_rows.zip(source.chunks_exact(row_len)) {
            target.copy_from_slice(&row[left..left + narrow_len]);
        }
        out
    } else {
        along_rows(source, row_len, &column_taps)?
    };
    let pixels = if rows.is_copy() {
        narrow
    } else {
        along_columns(&narrow, narrow_len, first, &row_taps)?
    };
    RgbImage::from_raw(window.width, window.height, pixels)
        .ok_or_else(|| CoreError::Image("the resized pixels are incomplete".into()))
}

/// One side of the image and what it becomes.
struct Axis {
    /// Pixels of the source.
    side: u32,
    /// First edge of the region.
    from: f64,
    /// Last edge of the region.
    to: f64,
    /// Pixels of the whole result.
    size: u32,
}

/// The source pixels of one output pixel and their weights in fixed point.
struct Taps {
    start: usize,
    weights: Vec<i32>,
}

impl Taps {
    fn end(&self) -> usize {
        self.start + self.weights.len()
    }
}

impl Axis {
    /// Returns whether Pillow skips the pass along this side, because nothing changes.
    fn is_copy(&self) -> bool {
        self.size == self.side && self.from == 0.0 && self.to == f64::from(self.size)
    }

    /// Returns the taps of `count` output pixels from `first`.
    fn taps(&self, first: u32, count: u32, filter: PillowFilter) -> Vec<Taps> {
        let scale = (self.to - self.from) / f64::from(self.size);
        // Shrinking widens the filter.
        let filter_scale = scale.max(1.0);
        let support = filter.support() * filter_scale;
        let per_pixel = 1.0 / filter_scale;
        let taps_of = |i: u32| {
            let centre = self.from + (f64::from(i) + 0.5) * scale;
            let start = ((centre - support + 0.5) as u32).min(self.side - 1);
            let end = ((centre + support + 0.5) as u32).clamp(start + 1, self.side);
            let position = |x: u32| (f64::from(x) - centre + 0.5) * per_pixel;
            let weights: Vec<f64> = (start..end).map(|x| filter.weight(position(x))).collect();
            let sum: f64 = weights.iter().sum();
            let weights = weights.into_iter().map(|w| {
                let share = if sum == 0.0 { w } else { w / sum };
                let scaled = share * f64::from(1_u32 << PRECISION_BITS);
                (scaled + if share < 0.0 { -0.5 } else { 0.5 }) as i32
            });
            Taps {
                start: start as usize,
                weights: weights.collect(),
            }
        };
        (first..first + count).map(taps_of).collect()
    }
}

const HALF: i32 = 1 << (PRECISION_BITS - 1);

fn to_byte(sum: i32) -> u8 {
    (sum >> PRECISION_BITS).clamp(0, 255) as u8
}

fn along_rows(source: &[u8], row_len: usize, taps: &[Taps]) -> Result<Vec<u8>> {
    let out_len = taps.len() * 3;
    let mut out = allocate(source.len() / row_len * out_len)?;
    let rows = source.chunks_exact(row_len);
    for (row, out_row) in rows.zip(out.chunks_exact_mut(out_len)) {
        for (taps, pixel) in taps.iter().zip(out_row.as_chunks_mut::<3>().0) {
            let mut sums = [HALF; 3];
            let read = row[taps.start * 3..taps.end() * 3].as_chunks::<3>().0;
            for (values, weight) in read.iter().zip(&taps.weights) {
                for (sum, value) in sums.iter_mut().zip(values) {
                    *sum += i32::from(*value) * weight;
                }
            }
            *pixel = sums.map(to_byte);
        }
    }
    Ok(out)
}

fn along_columns(source: &[u8], row_len: usize, first: usize, taps: &[Taps]) -> Result<Vec<u8>> {
    let mut out = allocate(taps.len() * row_len)?;
    let mut sums = vec![HALF; row_len];
    for (taps, out_row) in taps.iter().zip(out.chunks_exact_mut(row_len)) {
        sums.fill(HALF);
        let rows = source[(taps.start - first) * row_len..].chunks_exact(row_len);
        for (row, weight) in rows.zip(&taps.weights) {
            for (sum, value) in sums.iter_mut().zip(row) {
                *sum += i32::from(*value) * weight;
            }
        }
        for (byte, sum) in out_row.iter_mut().zip(&sums) {
            *byte = to_byte(*sum);
        }
    }
    Ok(out)
}
