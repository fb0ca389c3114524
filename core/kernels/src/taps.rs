//! One row of the kernel of a depthwise convolution, times one row of an image.

use pulp::Simd;

use crate::activation::Activation;

/// Pixels of the output that are computed together: they share the weights and most of the input.
pub const NEIGHBOURS: usize = 4;
/// Largest number of taps that are added together.
const MAX_TAPS: usize = 5;
/// Largest number of columns of the image under neighbouring pixels, with a stride of at most 2.
const MAX_COLUMNS: usize = (NEIGHBOURS - 1) * 2 + MAX_TAPS;

/// Taps of one row of a kernel.
#[derive(Clone, Copy)]
pub struct Taps<'a> {
    /// `[columns, channels]`; the first column lies under the first tap.
    pub source: &'a [f32],
    /// `[taps, channels]`
    pub weights: &'a [f32],
    /// Number of channels.
    pub channels: usize,
    /// Applied to the sums, after the last row of the kernel.
    pub activation: Option<Activation>,
}

impl Taps<'_> {
    /// Adds `count` taps to one pixel, `sums [channels]`.
    #[inline(always)]
    pub fn add_to_one<S: Simd>(mut self, simd: S, count: usize, sums: &mut [f32]) {
        let activation = self.activation;
        let mut left = count;
        while left > 0 {
            let added = left.min(MAX_TAPS);
            left -= added;
            self.activation = activation.filter(|_| left == 0);
            match added {
                1 => self.add::<S, 1, 0, 1>(simd, sums),
                2 => self.add::<S, 2, 0, 1>(simd, sums),
                3 => self.add::<S, 3, 0, 1>(simd, sums),
                4 => self.add::<S, 4, 0, 1>(simd, sums),
                _ => self.add::<S, MAX_TAPS, 0, 1>(simd, sums),
            }
            self.source = &self.source[added * self.channels..];
            self.weights = &self.weights[added * self.channels..];
        }
    }

    /// Adds `TAPS` taps to `N` neighbouring pixels, `sums [N, channels]`; the columns under two
    /// neighbours are `STRIDE` apart.
    #[inline(always)]
    pub fn add<S: Simd, const TAPS: usize, const STRIDE: usize, const N: usize>(
        self,
        simd: S,
        sums: &mut [f32],
    ) {
        let whole = self.channels - self.channels % S::F32_LANES;
        if whole < self.channels {
            self.add_scalars(
                [TAPS, STRIDE],
                whole,
                sums.chunks_exact_mut(self.channels).take(N),
            );
        }
        let count = whole / S::F32_LANES;
        // All slices have the same known length, so that the loop needs no checks.
        let mut columns: [&[S::f32s]; MAX_COLUMNS] = [&[]; MAX_COLUMNS];
        for (index, column) in columns.iter_mut().enumerate() {
            let index = index.min((N - 1) * STRIDE + TAPS - 1);
            *column = self.vectors::<S>(self.source, index, count);
        }
        let mut weights: [&[S::f32s]; TAPS] = [&[]; TAPS];
        for (index, weight) in weights.iter_mut().enumerate() {
            *weight = self.vectors::<S>(self.weights, index, count);
        }
        let mut pixels = sums.chunks_exact_mut(self.channels);
        let mut pixels: [&mut [S::f32s]; N] = std::array::from_fn(|_| {
            let pixel = pixels.next().unwrap_or_default();
            &mut S::as_mut_simd_f32s(pixel).0[..count]
        });
        for vector in 0..count {
            let mut found = [simd.splat_f32s(0.0); N];
            for (sum, pixel) in found.iter_mut().zip(&pixels) {
                *sum = pixel[vector];
            }
            for (tap, weight) in weights.iter().enumerate() {
                let weight = weight[vector];
                for (index, sum) in found.iter_mut().enumerate() {
                    let x = columns[index * STRIDE + tap][vector];
                    *sum = simd.mul_add_e_f32s(x, weight, *sum);
                }
            }
            for (sum, pixel) in found.into_iter().zip(&mut pixels) {
                pixel[vector] = match self.activation {
                    None => sum,
                    Some(activation) => activation.apply(simd, sum),
                };
            }
        }
    }
    /// Returns the first `count` vectors of one of many pixels.
    #[inline(always)]
    fn vectors<S: Simd>(self, pixels: &[f32], index: usize, count: usize) -> &[S::f32s] {
        let pixel = &pixels[index * self.channels..];
        &S::as_simd_f32s(&pixel[..self.channels]).0[..count]
    }

    /// Adds the taps of the channels from `first` on, which do not fill a vector.
    fn add_scalars<'a>(
        self,
        [taps, stride]: [usize; 2],
        first: usize,
        pixels: impl Iterator<Item = &'a mut [f32]>,
    ) {
        for (index, pixel) in pixels.enumerate() {
            for (channel, sum) in pixel.iter_mut().enumerate().skip(first) {
                for tap in 0..taps {
                    let x = self.source[(index * stride + tap) * self.channels + channel];
                    *sum += x * self.weights[tap * self.channels + channel];
                }
                if let Some(activation) = self.activation {
                    *sum = activation.apply_one(*sum);
                }
            }
        }
    }
}
