//! Images to the values of a tensor.

use ::image::RgbImage;

/// Returns the channel planes of images: `[n, 3, h, w]` in row-major order, values in \[0, 1\] (a
/// byte divided by 255). The mean is subtracted inside the model, which stores its own.
///
/// All images should have one size, as [`super::Preprocess::apply`] returns them; each contributes
/// `3 * h * w` values.
pub fn to_planes(imgs: &[RgbImage]) -> Vec<f32> {
    let mut out = Vec::with_capacity(imgs.iter().map(|i| i.as_raw().len()).sum());
    for img in imgs {
        for channel in 0..3 {
            let values = img.as_raw().iter().skip(channel).step_by(3);
            // A product with 1/255 would be off by one unit in the last place for some bytes.
            out.extend(values.map(|v| f32::from(*v) / 255.0));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use ::image::Rgb;

    use super::*;

    #[test]
    fn planes_come_one_after_the_other_row_by_row() {
        let level = |v: u32| u8::try_from(v).unwrap_or(0);
        let a = RgbImage::from_fn(2, 2, |x, y| Rgb([level(x + 2 * y), 100, 255]));
        let b = RgbImage::from_pixel(2, 2, Rgb([51, 0, 102]));
        let planes = to_planes(&[a, b]);
        assert_eq!(planes.len(), 2 * 3 * 4);
        assert_eq!(planes[..4], [0.0, 1.0 / 255.0, 2.0 / 255.0, 3.0 / 255.0]);
        assert_eq!(planes[4..8], [100.0 / 255.0; 4]);
        assert_eq!(planes[8..12], [1.0; 4]);
        assert_eq!(planes[12..16], [0.2; 4]);
        assert_eq!(planes[16..20], [0.0; 4]);
        assert_eq!(planes[20..], [0.4; 4]);
        assert!(to_planes(&[]).is_empty());
    }
}
