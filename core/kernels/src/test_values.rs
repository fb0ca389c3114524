//! Values for tests, and comparisons of what is computed with what is expected.

/// Returns a fixed value between -1 and 1 for a position.
pub(crate) fn value(index: usize) -> f32 {
    ((index * 7919 + 13) % 2003) as f32 / 1001.0 - 1.0
}

/// Compares values, with a tolerance of 1e-4 of the larger of an expected value and 10.
#[cfg(feature = "grad")]
pub(crate) fn assert_close(found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        let most = 1e-4 * expected.abs().max(10.0);
        assert!((found - expected).abs() < most, "{found} {expected}");
    }
}

/// Compares the output and the gradients of a layer with a sum and its differences. `sum` computes the sum of the
/// output times `weights` from the inputs in double precision.
#[cfg(feature = "grad")]
pub(crate) fn assert_gradients<const N: usize>(
    inputs: [&[f32]; N],
    (output, weights): (&[f32], &[f32]),
    gradients: [&[f32]; N],
    sum: impl Fn(&[Vec<f64>; N]) -> f64,
) {
    const STEP: f64 = 1e-6;
    let inputs = inputs.map(|values| values.iter().copied().map(f64::from).collect::<Vec<_>>());
    let found: f64 = output
        .iter()
        .zip(weights)
        .map(|(x, w)| f64::from(x * w))
        .sum();
    assert!((found - sum(&inputs)).abs() < 1e-4);
    for (which, gradient) in gradients.into_iter().enumerate() {
        assert_eq!(gradient.len(), inputs[which].len());
        for (place, found) in gradient.iter().enumerate() {
            let moved = |by: f64| {
                let mut inputs = inputs.clone();
                inputs[which][place] += by;
                sum(&inputs)
            };
            let expected = (moved(STEP) - moved(-STEP)) / (2.0 * STEP);
            let difference = (f64::from(*found) - expected).abs();
            assert!(
                difference < 2e-4 * (1.0 + expected.abs()),
                "input {which}, place {place}: expected {expected}, found {found}"
            );
        }
    }
}
