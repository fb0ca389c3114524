//! Neighbouring outputs, which are computed together from the sums of products.

/// Added to a float between 0 and 255, it moves the nearest integer, the even one of two, into the
/// last bits.
pub(crate) const ROUND: f32 = 8_388_608.0;

/// Largest byte.
pub(crate) const MOST: f32 = 255.0;

/// Some outputs. Compilers find vector instructions for loops over arrays, but not where they
/// optimise for size, as they do for WebAssembly; [`Eight`](crate::Eight) names them there. Every slice
/// has at least as many values as there are outputs; the others are ignored.
pub(crate) trait Lanes: Copy {
    /// How many outputs there are.
    const COUNT: usize;

    /// Returns `sum scales + bias`.
    fn scaled(sums: &[i32], scales: &[f32], bias: &[f32]) -> Self;

    /// Returns `sum (scale scales) + (bias - zero totals)`, and limits it to a smallest and a largest
    /// output if these are given; NaN stays.
    fn of_sums(
        sums: &[i32],
        scale_zero: [f32; 2],
        scales_totals_bias: [&[f32]; 3],
        limits: Option<[f32; 2]>,
    ) -> Self;

    /// Adds values.
    fn plus(self, values: &[f32]) -> Self;

    /// Stores the outputs.
    fn store(self, target: &mut [f32]);

    /// Stores the nearest bytes; NaN is 0.
    fn store_bytes(self, target: &mut [u8]);
}

impl<const N: usize> Lanes for [f32; N] {
    const COUNT: usize = N;

    #[inline(always)]
    fn scaled(sums: &[i32], scales: &[f32], bias: &[f32]) -> Self {
        let (sums, scales, bias) = (&sums[..N], &scales[..N], &bias[..N]);
        let mut outputs = [0.0; N];
        for (column, output) in outputs.iter_mut().enumerate() {
            *output = sums[column] as f32 * scales[column] + bias[column];
        }
        outputs
    }

    #[inline(always)]
    fn of_sums(
        sums: &[i32],
        [scale, zero]: [f32; 2],
        [scales, totals, bias]: [&[f32]; 3],
        limits: Option<[f32; 2]>,
    ) -> Self {
        let sums = &sums[..N];
        let (scales, totals, bias) = (&scales[..N], &totals[..N], &bias[..N]);
        let mut outputs = [0.0; N];
        for (column, output) in outputs.iter_mut().enumerate() {
            *output = sums[column] as f32 * (scale * scales[column])
                + (bias[column] - zero * totals[column]);
            if let Some([low, high]) = limits {
                // NaN is neither.
                *output = if *output < low { low } else { *output };
                *output = if *output > high { high } else { *output };
            }
        }
        outputs
    }

    #[inline(always)]
    fn plus(mut self, values: &[f32]) -> Self {
        for (output, value) in self.iter_mut().zip(&values[..N]) {
            *output += value;
        }
        self
    }

    #[inline(always)]
    fn store(self, target: &mut [f32]) {
        target[..N].copy_from_slice(&self);
    }

    #[inline(always)]
    fn store_bytes(self, target: &mut [u8]) {
        let mut bytes = [0; N];
        for (byte, output) in bytes.iter_mut().zip(self) {
            *byte = nearest(output);
        }
        target[..N].copy_from_slice(&bytes);
    }
}

/// Returns the nearest byte; NaN is 0.
#[inline(always)]
pub(crate) fn nearest(x: f32) -> u8 {
    let x = if x > 0.0 { x } else { 0.0 };
    let x = if x < MOST { x } else { MOST };
    (x + ROUND).to_bits() as u8
}
