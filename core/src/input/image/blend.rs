//! Conversion of any channels and depth to 8-bit RGB: alpha is blended on white, 16 bits are
//! rounded to 8.

use ::image::{ColorType, RgbImage};

use super::raw::{Raw, allocate};
use crate::error::{CoreError, Result};

/// Converts to RGB.
///
/// If the result is smaller than the input, the conversion happens inside the buffer, so that a
/// huge image is in memory only once.
///
/// # Errors
/// [`CoreError::Image`] for a pixel layout that none of the supported formats has.
pub(super) fn to_rgb(raw: Raw) -> Result<RgbImage> {
    let Raw {
        width,
        height,
        color,
        data,
        ..
    } = raw;
    let rgb = match color {
        ColorType::Rgb8 => data,
        ColorType::L8 => spread(&data, |[v]: [u8; 1]| [v; 3])?,
        ColorType::La8 => spread(&data, |[v, a]: [u8; 2]| [on_white8(v, a); 3])?,
        ColorType::L16 => spread(&data, |[a, b]: [u8; 2]| [narrow(wide(a, b)); 3])?,
        ColorType::La16 => shrink(data, |[a, b, c, d]: [u8; 4]| {
            [on_white16(wide(a, b), wide(c, d)); 3]
        }),
        ColorType::Rgba8 => shrink(data, |[r, g, b, a]: [u8; 4]| {
            [on_white8(r, a), on_white8(g, a), on_white8(b, a)]
        }),
        ColorType::Rgb16 => shrink(data, |p: [u8; 6]| {
            [
                narrow(wide(p[0], p[1])),
                narrow(wide(p[2], p[3])),
                narrow(wide(p[4], p[5])),
            ]
        }),
        ColorType::Rgba16 => shrink(data, |p: [u8; 8]| {
            let a = wide(p[6], p[7]);
            [
                on_white16(wide(p[0], p[1]), a),
                on_white16(wide(p[2], p[3]), a),
                on_white16(wide(p[4], p[5]), a),
            ]
        }),
        other => {
            return Err(CoreError::Image(format!(
                "pixels of kind {other:?} are not supported; save it again as an 8-bit PNG"
            )));
        }
    };
    RgbImage::from_raw(width, height, rgb)
        .ok_or_else(|| CoreError::Image(format!("the {width} x {height} pixels are incomplete")))
}

/// Converts `N` bytes per pixel to three, into a new buffer.
fn spread<const N: usize>(data: &[u8], rgb: impl Fn([u8; N]) -> [u8; 3]) -> Result<Vec<u8>> {
    let (pixels, _) = data.as_chunks::<N>();
    let mut out = allocate(pixels.len() * 3)?;
    for (target, &pixel) in out.as_chunks_mut::<3>().0.iter_mut().zip(pixels) {
        *target = rgb(pixel);
    }
    Ok(out)
}

/// Converts `N` > 3 bytes per pixel to three, inside the buffer: writing never overtakes reading.
fn shrink<const N: usize>(mut data: Vec<u8>, rgb: impl Fn([u8; N]) -> [u8; 3]) -> Vec<u8> {
    let pixels = data.len() / N;
    let mut pixel = [0; N];
    for i in 0..pixels {
        pixel.copy_from_slice(&data[i * N..(i + 1) * N]);
        data[i * 3..i * 3 + 3].copy_from_slice(&rgb(pixel));
    }
    data.truncate(pixels * 3);
    data.shrink_to_fit();
    data
}

fn wide(a: u8, b: u8) -> u16 {
    u16::from_ne_bytes([a, b])
}

/// Returns `round(v * 255 / 65535)`.
fn narrow(v: u16) -> u8 {
    byte((u32::from(v) + 128) / 257)
}

/// Returns `round((v a + 255 (255 - a)) / 255)`.
fn on_white8(v: u8, a: u8) -> u8 {
    let (v, a) = (u32::from(v), u32::from(a));
    byte((v * a + 255 * (255 - a) + 127) / 255)
}

/// Returns `round((v a + 65535 (65535 - a)) / 65535 / 257)`.
fn on_white16(v: u16, a: u16) -> u8 {
    let (v, a) = (u64::from(v), u64::from(a));
    let sum = v * a + 65535 * (65535 - a);
    let divisor = 65535 * 257;
    u8::try_from((sum + divisor / 2) / divisor).unwrap_or(u8::MAX)
}

fn byte(v: u32) -> u8 {
    u8::try_from(v).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use ::image::metadata::Orientation;

    use super::*;

    fn rgb_of(color: ColorType, data: Vec<u8>) -> Vec<u8> {
        let width = u32::try_from(data.len()).unwrap() / u32::from(color.bytes_per_pixel());
        let orientation = Orientation::NoTransforms;
        to_rgb(Raw {
            width,
            height: 1,
            color,
            data,
            orientation,
        })
        .unwrap()
        .into_raw()
    }

    fn words(values: &[u16]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_ne_bytes()).collect()
    }

    #[test]
    fn sixteen_bits_round_to_eight() {
        for v in 0..=u16::MAX {
            let exact = f64::from(v) * 255.0 / 65535.0;
            assert!((f64::from(narrow(v)) - exact).abs() <= 0.5, "{v}");
        }
        assert_eq!(
            rgb_of(ColorType::L16, words(&[0x00ff, 0xff00])),
            [1, 1, 1, 254, 254, 254]
        );
        assert_eq!(
            rgb_of(ColorType::Rgb16, words(&[0, 0x8080, 0xffff])),
            [0, 128, 255]
        );
    }

    #[test]
    fn alpha_is_blended_on_white_within_half_a_level() {
        for v in 0..=255 {
            for a in 0..=255 {
                let share = f64::from(a) / 255.0;
                let exact = f64::from(v) * share + 255.0 * (1.0 - share);
                assert!((f64::from(on_white8(v, a)) - exact).abs() <= 0.5, "{v} {a}");
                let wide16 = on_white16(u16::from(v) * 257, u16::from(a) * 257);
                assert!((f64::from(wide16) - exact).abs() <= 0.5, "16 bit {v} {a}");
            }
        }
        assert_eq!(
            rgb_of(ColorType::Rgba8, vec![10, 20, 30, 0]),
            [255, 255, 255]
        );
        assert_eq!(
            rgb_of(ColorType::Rgba8, vec![10, 20, 30, 255]),
            [10, 20, 30]
        );
        assert_eq!(rgb_of(ColorType::La8, vec![0, 51]), [204, 204, 204]);
        assert_eq!(
            rgb_of(ColorType::La16, words(&[0, 0x3333])),
            [204, 204, 204]
        );
        assert_eq!(
            rgb_of(ColorType::Rgba16, words(&[0, 0, 0xffff, 0x8080])),
            [127, 127, 255]
        );
    }

    #[test]
    fn converting_in_place_keeps_every_pixel() {
        let data: Vec<u8> = (0..40u8)
            .flat_map(|i| [i, i.wrapping_mul(3), 255 - i, 255])
            .collect();
        let expected: Vec<u8> = (0..40u8)
            .flat_map(|i| [i, i.wrapping_mul(3), 255 - i])
            .collect();
        assert_eq!(rgb_of(ColorType::Rgba8, data), expected);
        assert_eq!(rgb_of(ColorType::L8, vec![7, 9]), [7, 7, 7, 9, 9, 9]);
    }

    #[test]
    fn an_unknown_pixel_layout_is_named() {
        let raw = Raw {
            width: 1,
            height: 1,
            color: ColorType::Rgb32F,
            data: vec![0; 12],
            orientation: Orientation::NoTransforms,
        };
        assert!(to_rgb(raw).unwrap_err().to_string().contains("Rgb32F"));
    }
}
