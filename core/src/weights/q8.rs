//! Symmetric quantisation to integers with one scale per output channel (the first dimension),
//! stored as one byte each.

use super::host::HostTensor;

/// Suffix that makes the name of a tensor's scales from the name of the tensor.
pub const SCALE_SUFFIX: &str = ".q8_scale";

/// Largest value of `q8`: the largest signed byte.
pub const Q8: i8 = 127;

/// Largest value of 7-bit integers.
pub const Q7: i8 = 63;

/// Largest value of 5-bit integers.
pub const Q5: i8 = 15;

/// Largest value of `q6`: 63 levels, which take a third fewer bytes than [`Q8`] after compression.
pub const Q6: i8 = 31;

/// Returns the number of rows of a tensor, each of which has its scale; 0 if it has no elements.
pub(super) fn rows(shape: &[usize]) -> usize {
    if shape.contains(&0) {
        return 0;
    }
    shape.first().copied().unwrap_or(1)
}

/// Returns whether quantising a tensor saves a relevant number of bytes: true for matrices and
/// kernels, false for gains, biases, positions and scalars.
#[must_use]
pub fn is_worth_quantising(name: &str, tensor: &HostTensor) -> bool {
    tensor.shape.len() >= 2
        && tensor.shape[0] > 1
        && tensor.data.len() >= 1024
        && !name.ends_with("pos_embed")
        && !name.ends_with("posit_embed")
}

/// Returns values in `[-max_level, max_level]`, `max_level` at least 1, and one scale per row, so that
/// `x ~ value * scale`; a row of zeros has scale 1.
#[must_use]
pub fn quantise(tensor: &HostTensor, max_level: i8) -> (Vec<i8>, Vec<f32>) {
    let width = (tensor.data.len() / rows(&tensor.shape).max(1)).max(1);
    let rows = tensor.data.chunks(width);
    let rows = rows.map(|row| rounded(row, i16::from(max_level)));
    let (integers, scales): (Vec<_>, Vec<_>) = rows.unzip();
    let values = integers.concat().into_iter().map(|value| value as i8);
    (values.collect(), scales)
}

/// Returns the integers and the scale of one row. A row that was quantised gets its integers back; another
/// one is rounded.
pub(crate) fn integers_of(row: &[f32]) -> (Vec<i8>, f32) {
    let (integers, scale) = rounded(row, i16::from(levels_of(row).unwrap_or(Q8)));
    let integers = integers.into_iter().map(|value| value as i8);
    (integers.collect(), scale)
}

/// Returns the integers and the scale of each row of `width` values. Rows that were quantised get their
/// integers back; another one is rounded to `most` levels of each sign.
pub(crate) fn wide_integers_of(values: &[f32], width: usize, most: i16) -> (Vec<i16>, Vec<f32>) {
    let rows = values.chunks(width.max(1)).map(|row| {
        let levels = levels_of(row).map_or(most, i16::from);
        rounded(row, levels)
    });
    let (integers, scales): (Vec<_>, Vec<_>) = rows.unzip();
    (integers.concat(), scales)
}

/// Returns the levels that a row was quantised to; `None` for another one.
fn levels_of(row: &[f32]) -> Option<i8> {
    /// How far a value may be from an integer after two roundings of a float.
    const ROUNDING: f32 = 1e-3;

    let largest = largest(row);
    let fits = |levels: &i8| {
        let steps = row.iter().map(|x| x / (largest / f32::from(*levels)));
        steps
            .map(|x| (x - x.round()).abs())
            .all(|error| error < ROUNDING)
    };
    [Q5, Q6, Q7, Q8].into_iter().find(fits)
}

fn largest(row: &[f32]) -> f32 {
    row.iter().fold(0.0, |most, x| most.max(x.abs()))
}

/// Returns the values of a row as multiples of its scale, from `-levels` to `levels`.
fn rounded(row: &[f32], levels: i16) -> (Vec<i16>, f32) {
    let (levels, largest) = (f32::from(levels.max(1)), largest(row));
    let scale = if largest > 0.0 { largest / levels } else { 1.0 };
    let steps = row.iter().map(|x| (x / scale).round());
    let integers = steps.map(|x| x.clamp(-levels, levels) as i16);
    (integers.collect(), scale)
}

/// Multiplies each row of integers by its scale; there are as many rows as scales.
pub(super) fn dequantise(values: &[i8], scales: &[f32]) -> Vec<f32> {
    let width = (values.len() / scales.len().max(1)).max(1);
    let rows = values.chunks(width).zip(scales);
    rows.flat_map(|(row, scale)| row.iter().map(move |v| f32::from(*v) * scale))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tensor(shape: &[usize], data: Vec<f32>) -> HostTensor {
        HostTensor {
            shape: shape.to_vec(),
            data,
        }
    }

    #[test]
    fn each_row_has_its_scale_and_a_row_of_zeros_has_scale_1() {
        let data = vec![1.0, -2.0, 0.5, 0.0, 0.0, 0.0, -6.2, 3.1, 0.0];
        let (values, scales) = quantise(&tensor(&[3, 3], data), Q6);
        assert_eq!(scales, [2.0 / 31.0, 1.0, 6.2 / 31.0]);
        // 1 / (2 / 31) is 15.5, which is rounded away from zero.
        assert_eq!(values, [16, -31, 8, 0, 0, 0, -31, 16, 0]);
        let (values, scales) = quantise(&tensor(&[0, 3], Vec::new()), Q8);
        assert!(values.is_empty() && scales.is_empty());
    }

    #[test]
    fn integers_come_back_and_other_values_are_rounded() {
        let row: Vec<i8> = vec![-31, 0, 7, 12, 31, -1];
        for scale in [1.0, 0.003, 1e-9, 17.3] {
            let floats = dequantise(&row, &[scale]);
            let (integers, found) = integers_of(&floats);
            assert_eq!(integers, row);
            assert!((found / scale - 1.0).abs() < 1e-6, "{found} {scale}");
        }
        let row = [127, -64, 1, 0];
        assert_eq!(integers_of(&dequantise(&row, &[0.5])), (row.to_vec(), 0.5));
        let (integers, scale) = integers_of(&[1.0, -0.0051, 0.3]);
        assert_eq!(integers, [127, -1, 38]);
        assert!((scale - 1.0 / 127.0).abs() < 1e-6);
        assert_eq!(integers_of(&[0.0; 3]), (vec![0; 3], 1.0));
        assert_eq!(integers_of(&[]), (vec![], 1.0));
    }

    #[test]
    fn matrices_of_a_thousand_numbers_are_worth_quantising() {
        let is_worth = |name: &str, shape: &[usize]| {
            let count = shape.iter().product();
            is_worth_quantising(name, &tensor(shape, vec![0.0; count]))
        };
        assert!(is_worth("fc.weight", &[32, 32]) && is_worth("fc.weight", &[2, 512]));
        assert!(is_worth("conv.weight", &[16, 8, 3, 3]));
        assert!(!is_worth("fc.weight", &[31, 33]), "1,023 numbers");
        assert!(!is_worth("fc.bias", &[2048]), "a vector");
        assert!(!is_worth("class_token", &[1, 2048]), "one row");
        assert!(!is_worth("visual.pos_embed", &[50, 64]));
        assert!(!is_worth("textual.posit_embed", &[50, 64]));
    }

    proptest! {
        #[test]
        fn quantisation_errors_are_at_most_half_a_step(
            data in prop::collection::vec(-10.0_f32..10.0, 24),
            max_level in prop::sample::select(vec![Q8, Q7, Q6, Q5]),
        ) {
            let tensor = HostTensor { shape: vec![4, 6], data: data.clone() };
            let (values, scales) = quantise(&tensor, max_level);
            prop_assert!(values.iter().all(|v| v.abs() <= max_level));
            let back = dequantise(&values, &scales);
            prop_assert_eq!((values.len(), scales.len()), (24, 4));
            for (i, (a, b)) in data.iter().zip(&back).enumerate() {
                prop_assert!((a - b).abs() <= scales[i / 6] * 0.5001);
            }
        }
    }
}
