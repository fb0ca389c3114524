//! Shrinking by area: every output pixel is the mean of the source pixels it covers; partly covered
//! pixels are weighted by the covered part (notation 5.2; `OpenCV`'s area interpolation).
//!
//! Pillow's `BOX` counts partly covered pixels fully or not at all. At usual ratios this differs by
//! tens of levels, hence this separate implementation.

use ::image::RgbImage;

use super::raw::allocate;
use super::resize::check;
use crate::error::{CoreError, Result};

/// Shrinks to `width` x `height`, neither larger than the side of the image.
pub(super) fn shrink(img: &RgbImage, width: u32, height: u32) -> Result<RgbImage> {
    check(img, width, height)?;
    let columns = spans(img.width(), width);
    let row_len = img.width() as usize * 3;
    let mut out = allocate(width as usize * height as usize * 3)?;
    let out_rows = out.chunks_exact_mut(width as usize * 3);
    let mut sum = vec![0.0_f32; row_len];
    for (rows, out_row) in spans(img.height(), height).iter().zip(out_rows) {
        sum.fill(0.0);
        for (y, weight) in rows.weighted() {
            let row = &img.as_raw()[y * row_len..(y + 1) * row_len];
            for (s, &v) in sum.iter_mut().zip(row) {
                *s += weight * f32::from(v);
            }
        }
        for (span, pixel) in columns.iter().zip(out_row.as_chunks_mut::<3>().0) {
            let mut mean = [0.0_f32; 3];
            for (x, weight) in span.weighted() {
                for (m, s) in mean.iter_mut().zip(&sum[x * 3..x * 3 + 3]) {
                    *m += weight * s;
                }
            }
            *pixel = mean.map(|m| m.round().clamp(0.0, 255.0) as u8);
        }
    }
    RgbImage::from_raw(width, height, out)
        .ok_or_else(|| CoreError::Image("the shrunk pixels are incomplete".into()))
}

/// The source pixels under one output pixel, with weights that sum to 1.
struct Span {
    start: usize,
    weights: Vec<f32>,
}

impl Span {
    fn weighted(&self) -> impl Iterator<Item = (usize, f32)> + '_ {
        self.weights
            .iter()
            .enumerate()
            .map(|(i, &w)| (self.start + i, w))
    }
}

fn spans(from: u32, to: u32) -> Vec<Span> {
    let scale = f64::from(from) / f64::from(to);
    let span = |i: u32| {
        let (low, high) = (f64::from(i) * scale, f64::from(i + 1) * scale);
        let start = (low as u32).min(from - 1);
        let end = (high.ceil() as u32).clamp(start + 1, from);
        let covered = |x: u32| {
            let (left, right) = (f64::from(x).max(low), f64::from(x + 1).min(high));
            (((right - left) / scale).max(0.0)) as f32
        };
        Span {
            start: start as usize,
            weights: (start..end).map(covered).collect(),
        }
    };
    (0..to).map(span).collect()
}

#[cfg(test)]
mod tests {
    use ::image::Rgb;

    use super::*;

    #[test]
    fn halving_takes_the_mean_of_four() {
        let img = RgbImage::from_raw(2, 2, vec![0, 0, 0, 10, 0, 0, 20, 0, 0, 50, 4, 255]).unwrap();
        assert_eq!(shrink(&img, 1, 1).unwrap().into_raw(), [20, 1, 64]);
    }

    #[test]
    fn pixels_on_an_edge_count_by_the_part_covered() {
        // Three pixels to two: (90 + 60/2) / 1.5 = 80 and (60/2 + 0) / 1.5 = 20.
        let img = RgbImage::from_fn(3, 1, |x, _| Rgb([[90, 60, 0][x as usize]; 3]));
        assert_eq!(
            shrink(&img, 2, 1).unwrap().into_raw(),
            [80, 80, 80, 20, 20, 20]
        );
    }

    #[test]
    fn weights_sum_to_one_and_cover_everything_once() {
        for (from, to) in [
            (1, 1),
            (7, 7),
            (640, 224),
            (333, 64),
            (30_000, 1),
            (225, 224),
        ] {
            let spans = spans(from, to);
            let mut covered = vec![0.0_f64; from as usize];
            for span in &spans {
                let sum: f32 = span.weights.iter().sum();
                assert!((sum - 1.0).abs() < 1e-3, "{from} to {to}: {sum}");
                for (x, weight) in span.weighted() {
                    covered[x] += f64::from(weight);
                }
            }
            let share = f64::from(to) / f64::from(from);
            assert!(
                covered.iter().all(|c| (c - share).abs() < 1e-5),
                "{from} to {to}"
            );
        }
    }
}
