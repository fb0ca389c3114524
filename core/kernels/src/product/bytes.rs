//! Rows of floats as bytes.

/// Added to a float between 0 and 255, it moves the nearest integer, the even one of two, into the
/// last bits.
const ROUND: f32 = 8_388_608.0;

/// Largest byte.
const MOST: f32 = 255.0;

/// A row with a smaller range is taken for zeros: the factor that makes it bytes would be infinite.
const SMALLEST: f32 = 1e-34;

/// Scale and zero point of a row of bytes: a byte has the value `(byte - zero) scale`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RowScale {
    pub scale: f32,
    pub zero: u8,
}

/// Rounds a row to bytes. The range from its least to its largest value, and to 0, has all of them; 0 is
/// a byte without rounding. If a value is not finite, neither is the scale.
#[inline(always)]
pub(super) fn quantise(row: &[f32], bytes: &mut [u8]) -> RowScale {
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

/// Returns the nearest byte.
#[inline(always)]
fn nearest(x: f32) -> u8 {
    let x = if x > 0.0 { x } else { 0.0 };
    let x = if x < MOST { x } else { MOST };
    (x + ROUND).to_bits() as u8
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
