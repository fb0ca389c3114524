//! Photos: decoding, preprocessing for the image encoder, and regions.

use espalier_core::input::image::{RgbImage, decode_within, frame_of};
use espalier_core::input::{Preprocess, Resampling, ResizeMode, crop_box, to_planes};

/// Largest size of the decoded pixels in bytes: small enough that many images are read per second,
/// and that whatever a decoder needs beside them stays far below the fuzzer's limit of memory.
const MAX_BYTES: u64 = 8 << 20;

/// Side of the preprocessed image; the models that ship use 128 and 224.
const SIZE: u32 = 32;

const MODES: [ResizeMode; 4] = [
    ResizeMode::CentreCrop,
    ResizeMode::InnerCrop,
    ResizeMode::Squeeze,
    ResizeMode::WhitePad,
];

/// Decodes an image file and prepares all of it, and one region, for the image encoder.
///
/// The region's edges are the last 16 bytes of the file as `f32`, so they may be any number.
///
/// # Panics
/// If an image is larger than the limit or than its headers say, or if its preprocessed form has the wrong size.
pub fn run(input: &[u8]) {
    let frame = frame_of(input);
    let Ok(image) = decode_within(input, MAX_BYTES) else {
        return;
    };
    let frame = frame.unwrap_or_else(|e| panic!("an image without a size: {e}"));
    assert_eq!(frame.upright(), image.dimensions());
    let (width, height) = image.dimensions();
    assert!(u64::from(width) * u64::from(height) * 3 <= MAX_BYTES);
    prepare(&image);
    if let Some(region) = crop_box(&image, edges(input)) {
        assert!(region.width() <= width && region.height() <= height);
        prepare(&region);
    }
}

fn edges(input: &[u8]) -> [f32; 4] {
    let mut edges = [0.0; 4];
    let (_, numbers) = input.as_rchunks();
    for (edge, bytes) in edges.iter_mut().zip(numbers.iter().rev()) {
        *edge = f32::from_le_bytes(*bytes);
    }
    edges
}

fn prepare(image: &RgbImage) {
    let resamplings = [Resampling::Bicubic, Resampling::PillowBicubic];
    for (resize, resampling) in resamplings
        .map(|r| MODES.map(|m| (m, r)))
        .into_iter()
        .flatten()
    {
        let preprocess = Preprocess {
            resampling,
            ..Preprocess::new(SIZE, resize)
        };
        let (prepared, visible) = (preprocess.apply(image), preprocess.visible(image));
        let prepared = prepared.unwrap_or_else(|e| panic!("{resize:?}: {e}"));
        assert_eq!(prepared.dimensions(), (SIZE, SIZE), "{resize:?}");
        let visible = visible.unwrap_or_else(|e| panic!("{resize:?}: {e}"));
        assert!(visible.iter().all(|edge| edge.is_finite()), "{resize:?}");
        let planes = to_planes(&[prepared]);
        assert!(planes.iter().all(|value| (0.0..=1.0).contains(value)));
    }
}
