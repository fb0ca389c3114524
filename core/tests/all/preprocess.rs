//! Image preprocessing against Pillow and against sums from the definitions.
//!
//! `golden/gen_preprocess.py` writes the values and says where the tolerances come from.

use espalier_core::input::image::{Preprocess, ResizeMode, RgbImage, decode};
use serde_json::json;

const GOLDEN: &str = include_str!("../../../tests/golden/preprocess.tsv");

/// Returns the counterpart of `source` in the generator: slopes, edges and noise.
fn source(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| {
        let level = |c: u32| {
            let h = x
                .wrapping_mul(374_761_393)
                .wrapping_add(y.wrapping_mul(668_265_263))
                .wrapping_add(c.wrapping_mul(2_246_822_519));
            let noise = (h ^ (h >> 13)).wrapping_mul(1_274_126_177) >> 24;
            let slope = (x * 5 + y * 3 + c * 40) & 255;
            u8::try_from((noise + 3 * slope) / 4).unwrap()
        };
        [level(0), level(1), level(2)].into()
    })
}

/// Reads hexadecimal digits, two of each byte.
pub(super) fn bytes(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks(2);
    let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    pairs.map(byte).collect()
}

#[test]
fn prepared_images_are_those_of_the_reference() {
    let mut kinds = Vec::new();
    for line in GOLDEN.lines().skip(2) {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |i: usize| fields[i].parse::<u32>().unwrap();
        let (width, height, size, tolerance) = (number(3), number(4), number(5), number(6));
        let preprocess = json!({
            "size": size,
            "resize": fields[0],
            "resampling": fields[1],
            "crop_offset": fields[2],
        });
        let preprocess: Preprocess = serde_json::from_value(preprocess).unwrap();
        let found = preprocess.apply(&source(width, height)).unwrap();
        let expected = bytes(fields[7]);
        assert_eq!(found.as_raw().len(), expected.len());
        let kind = fields[..3].join(" ");
        let case = format!("{kind} {width} x {height} to {size}");
        for (i, (&f, &e)) in found.as_raw().iter().zip(&expected).enumerate() {
            let (x, y, c) = (i / 3 % size as usize, i / 3 / size as usize, i % 3);
            assert!(
                u32::from(f.abs_diff(e)) <= tolerance,
                "{case}: at {x}, {y}, channel {c}: expected {e}, found {f}"
            );
        }
        kinds.push(kind);
    }
    for (wanted, least) in [
        ("squeeze bicubic half_to_even", 4),
        ("centre_crop bicubic half_to_even", 4),
        ("white_pad bicubic half_to_even", 4),
        ("squeeze pillow_bicubic half_to_even", 4),
        ("centre_crop pillow_bicubic down", 3),
        ("inner_crop pillow_bicubic half_to_even", 2),
        ("centre_crop pillow_bilinear down", 3),
    ] {
        assert!(
            kinds.iter().filter(|kind| *kind == wanted).count() >= least,
            "expected at least {least} cases of {wanted}"
        );
    }
}

#[test]
fn a_crop_without_resizing_is_exact() {
    // Offsets of 1.5 and 2.5 round to the even neighbour: 2 and 2.
    for (width, left) in [(35, 2), (37, 2), (34, 1), (36, 2)] {
        let img = source(width, 32);
        let preprocess = Preprocess::new(32, ResizeMode::CentreCrop);
        for (x, y, pixel) in preprocess.apply(&img).unwrap().enumerate_pixels() {
            let expected = img.get_pixel(x + left, y);
            assert_eq!(pixel, expected, "{width} wide, at {x}, {y}");
        }
    }
}

#[test]
fn a_file_goes_all_the_way_to_planes() {
    let file = include_bytes!("../../../tests/golden/pictures/rgba.png");
    let preprocess = Preprocess::new(8, ResizeMode::Squeeze);
    let img = preprocess.apply(&decode(file).unwrap()).unwrap();
    let planes = espalier_core::input::to_planes(std::slice::from_ref(&img));
    assert_eq!(planes.len(), 3 * 8 * 8);
    for (i, &v) in planes.iter().enumerate() {
        let (c, y, x) = (i / 64, i / 8 % 8, i % 8);
        let byte = img.get_pixel(x as u32, y as u32)[c];
        assert!((v * 255.0 - f32::from(byte)).abs() < 1e-4);
    }
}
