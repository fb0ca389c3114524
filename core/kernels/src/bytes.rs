//! Floats as bytes.

use crate::lanes::{Lanes, MOST, nearest};
use crate::quads::QUAD;
use crate::scratch::{Kept, Scratch, kept};

/// A row with a smaller range is taken for zeros: the factor that makes it bytes would be infinite.
const SMALLEST: f32 = 1e-34;

/// Value of a byte between two layers that are rectified: 255 stands for 6, the limit of ReLU6.
pub(crate) const STEP: f32 = 6.0 / MOST;

/// Type of a layer's output.
pub(crate) trait Output: Kept {
    /// Whether [`store`](Self::store) applies ReLU6 itself.
    const IS_RECTIFIED: bool;

    /// Stores values at the beginning of a slice.
    fn store<L: Lanes>(values: L, target: &mut [Self]);
}

impl Output for f32 {
    const IS_RECTIFIED: bool = false;

    #[inline(always)]
    fn store<L: Lanes>(values: L, target: &mut [Self]) {
        values.store(target);
    }
}

/// Steps of [`STEP`]; NaN is 0.
impl Output for u8 {
    const IS_RECTIFIED: bool = true;

    #[inline(always)]
    fn store<L: Lanes>(values: L, target: &mut [Self]) {
        values.store_bytes(target);
    }
}

/// Type of the input of a product of bytes.
pub(crate) trait Input: Copy + Send + Sync {
    /// Returns rows of `inputs` values as rows of whole quads, padded with zeros, and the scale of
    /// each row. `buffers` are memory for both.
    fn bytes<'a>(
        rows: &'a [Self],
        inputs: usize,
        buffers: &'a mut Buffers,
    ) -> (&'a [[u8; QUAD]], &'a [RowScale]);
}

/// Memory for rows of bytes.
#[derive(Debug)]
pub(crate) struct Buffers {
    bytes: Scratch<[u8; QUAD]>,
    scales: Scratch<RowScale>,
}

impl Default for Buffers {
    fn default() -> Self {
        Self {
            bytes: Scratch::new(0),
            scales: Scratch::new(0),
        }
    }
}

/// Each row is rounded with a scale of its own.
impl Input for f32 {
    #[inline(always)]
    fn bytes<'a>(
        rows: &'a [Self],
        inputs: usize,
        buffers: &'a mut Buffers,
    ) -> (&'a [[u8; QUAD]], &'a [RowScale]) {
        let (quads, count) = (inputs.div_ceil(QUAD), rows.len() / inputs);
        let Buffers { bytes, scales } = buffers;
        bytes.resize(count * quads);
        scales.resize(count);
        let targets = bytes.chunks_exact_mut(quads).zip(scales.iter_mut());
        for (row, (bytes, scale)) in rows.chunks_exact(inputs).zip(targets) {
            *scale = quantise(row, padded(bytes, inputs));
        }
        (bytes, scales)
    }
}

/// The values of [`Output`].
impl Input for u8 {
    #[inline(always)]
    fn bytes<'a>(
        rows: &'a [Self],
        inputs: usize,
        buffers: &'a mut Buffers,
    ) -> (&'a [[u8; QUAD]], &'a [RowScale]) {
        let (quads, count) = (inputs.div_ceil(QUAD), rows.len() / inputs);
        let Buffers { bytes, scales } = buffers;
        scales.resize(count);
        scales.fill(RowScale {
            scale: STEP,
            zero: 0,
        });
        if inputs.is_multiple_of(QUAD) {
            return (rows.as_chunks().0, scales);
        }
        bytes.resize(count * quads);
        for (row, bytes) in rows.chunks_exact(inputs).zip(bytes.chunks_exact_mut(quads)) {
            padded(bytes, inputs).copy_from_slice(row);
        }
        (bytes, scales)
    }
}

/// Returns the first bytes of a row; the others become zeros.
#[inline(always)]
fn padded(row: &mut [[u8; QUAD]], inputs: usize) -> &mut [u8] {
    let (bytes, rest) = row.as_flattened_mut().split_at_mut(inputs);
    // Without the condition, memory is cleared by a call for each row, even if there is nothing to clear.
    if !rest.is_empty() {
        rest.fill(0);
    }
    bytes
}

/// Scale and zero point of a row of bytes: a byte has the value `(byte - zero) scale`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct RowScale {
    pub scale: f32,
    pub zero: u8,
}

kept!(RowScale);

/// Rounds a row to bytes. The range from its least to its largest value, and to 0, has all of them; 0 is
/// a byte without rounding. If a value is not finite, neither is the scale.
#[inline(always)]
pub(crate) fn quantise(row: &[f32], bytes: &mut [u8]) -> RowScale {
    let (mut least, mut largest) = (0, 0);
    for x in row {
        let key = ordered(x.to_bits() as i32);
        least = key.min(least);
        largest = key.max(largest);
    }
    let [low, high] = [least, largest].map(|key| f32::from_bits(ordered(key) as u32));
    let range = high - low;
    let factor = if range > SMALLEST { MOST / range } else { 0.0 };
    let zero = nearest(-low * factor);
    let offset = f32::from(zero);
    for (byte, x) in bytes.iter_mut().zip(row) {
        *byte = nearest(*x * factor + offset);
    }
    RowScale {
        scale: range / MOST,
        zero,
    }
}

/// Returns an integer that is ordered as the float of these bits, and the bits of such an integer. NaN
/// lies beyond the infinite values.
#[inline(always)]
fn ordered(bits: i32) -> i32 {
    bits ^ ((bits >> 31) & i32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bytes_are_wrong_by_at_most_a_step(
            row in prop::collection::vec(-1e3_f32..1e3, 1..50),
            scale in prop::sample::select(vec![1e-30_f32, 1e-3, 1.0, 1e30]),
            is_rectified: bool,
        ) {
            let row = row.iter().map(|x| x * scale);
            let row: Vec<f32> = row.map(|x| if is_rectified { x.max(0.0) } else { x }).collect();
            let mut bytes = vec![0; row.len()];
            let found = quantise(&row, &mut bytes);
            for (x, byte) in row.iter().zip(bytes) {
                let stands_for = (f32::from(byte) - f32::from(found.zero)) * found.scale;
                // Half a step for the value, and half for the zero.
                prop_assert!((x - stands_for).abs() <= 1.001 * found.scale, "{} {}", x, stands_for);
                prop_assert!(*x != 0.0 || byte == found.zero);
            }
            prop_assert!(!is_rectified || found.zero == 0);
        }
    }
}
