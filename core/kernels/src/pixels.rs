//! Pixels as the input of an encoder.

/// Channels of an image.
pub const RGB: usize = 3;

/// Returns `(v / 255 - mean) / std` of all values of an image, channel by channel.
///
/// # Shapes
/// `[pixels, 3] -> [pixels, 3]`
#[must_use]
pub fn normalise(pixels: &[u8], mean: [f32; RGB], std: [f32; RGB]) -> Vec<f32> {
    let pixels = pixels.as_chunks::<RGB>().0.iter();
    let values = pixels.flat_map(|pixel| {
        let channel = |c: usize| (f32::from(pixel[c]) / 255.0 - mean[c]) / std[c];
        [channel(0), channel(1), channel(2)]
    });
    values.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_channel_has_its_mean_and_deviation() {
        let found = normalise(&[255, 51, 0, 0, 0, 255], [1.0, 0.0, 0.5], [1.0, 0.5, 0.25]);
        assert_eq!(found, [0.0, 0.4, -2.0, -1.0, 0.0, 2.0]);
    }
}
