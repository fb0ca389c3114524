//! Pixels as the input of an encoder.

use crate::scratch::Scratch;
use crate::threads::for_pieces;

/// Channels of an image.
pub const RGB: usize = 3;

/// Returns `(v / 255 - mean) / std` of all values of an image, channel by channel.
///
/// # Shapes
/// `[pixels, 3] -> [pixels, 3]`
#[must_use]
pub fn normalise(pixels: &[u8], mean: [f32; RGB], std: [f32; RGB]) -> Scratch<f32> {
    // Divisions take longer than to read the value of a byte.
    let values: [[f32; 256]; RGB] = std::array::from_fn(|channel| {
        std::array::from_fn(|byte| (byte as f32 / 255.0 - mean[channel]) / std[channel])
    });
    let mut normalised = Scratch::new(pixels.len() / RGB * RGB);
    // About four multiplications a value.
    let products = 4 * normalised.len();
    for_pieces(&mut normalised, RGB, 1, products, |first, output| {
        let pixels = pixels.as_chunks::<RGB>().0[first..].iter();
        for (output, pixel) in output.as_chunks_mut::<RGB>().0.iter_mut().zip(pixels) {
            for (channel, output) in output.iter_mut().enumerate() {
                *output = values[channel][usize::from(pixel[channel])];
            }
        }
    });
    normalised
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_channel_has_its_mean_and_deviation() {
        let found = normalise(&[255, 51, 0, 0, 0, 255], [1.0, 0.0, 0.5], [1.0, 0.5, 0.25]);
        assert_eq!(found[..], [0.0, 0.4, -2.0, -1.0, 0.0, 2.0]);
    }
}
