//! JPEG, with pixels decoded strictly.
//!
//! Decoders made for browsers fill unreadable parts with grey and report nothing. A model would
//! describe that grey, so here damage and truncation are errors.

use ::image::ColorType;
use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;
use zune_jpeg::errors::DecodeErrors;

use super::frame::Frame;
use super::orient;
use super::raw::{Raw, allocate, check_size, truncated};
use crate::error::{CoreError, Result};

/// A JPEG whose headers were read and found usable.
struct Opened<'a> {
    decoder: JpegDecoder<ZCursor<&'a [u8]>>,
    options: DecoderOptions,
    space: ColorSpace,
    /// Bytes of the pixels.
    len: usize,
    /// Without its pixels.
    raw: Raw,
}

fn explain(bytes: &[u8], error: DecodeErrors) -> CoreError {
    CoreError::Image(match error {
        _ if !is_complete(bytes) => truncated("JPEG", bytes.len()),
        DecodeErrors::Unsupported(kind) => {
            format!("this kind of JPEG is not supported; save it again as PNG ({kind:?})")
        }
        DecodeErrors::Format(reason) => format!("this JPEG is damaged: {reason}"),
        DecodeErrors::FormatStatic(reason) => format!("this JPEG is damaged: {reason}"),
        other => format!("this JPEG is damaged: {other}"),
    })
}

/// Reads the headers and checks all that can be checked without decoding the pixels.
fn open(bytes: &[u8], max_bytes: u64) -> Result<Opened<'_>> {
    // Some cameras write stray bytes between headers; they are harmless, so the headers are not
    // read strictly.
    let options = DecoderOptions::default()
        .set_strict_mode(false)
        .set_max_width(usize::from(u16::MAX))
        .set_max_height(usize::from(u16::MAX));
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(|e| explain(bytes, e))?;
    let (width, height) = decoder.dimensions().unwrap_or_default();
    let (width, height) = (side(width), side(height));
    let (space, color) = match decoder.input_colorspace() {
        Some(ColorSpace::Luma) => (ColorSpace::Luma, ColorType::L8),
        _ => (ColorSpace::RGB, ColorType::Rgb8),
    };
    let len = check_size((width, height), color.bytes_per_pixel(), max_bytes)?;
    let orientation = orient::from_exif(decoder.exif().map(Vec::as_slice));
    Ok(Opened {
        decoder,
        options,
        space,
        len,
        raw: Raw {
            width,
            height,
            color,
            data: Vec::new(),
            orientation,
        },
    })
}

/// As [`open`]; also checks that the file has all of its bytes.
fn open_whole(bytes: &[u8], max_bytes: u64) -> Result<Opened<'_>> {
    let opened = open(bytes, max_bytes)?;
    if !is_complete(bytes) || !can_contain(bytes.len(), opened.raw.width, opened.raw.height) {
        return Err(CoreError::Image(truncated("JPEG", bytes.len())));
    }
    Ok(opened)
}

/// Returns size and orientation, without decoding the pixels. Of a `whole` file, also checks that it
/// has all of its bytes; otherwise the headers are enough.
///
/// # Errors
/// As [`decode`], except for damaged pixels.
pub(super) fn frame(bytes: &[u8], max_bytes: u64, whole: bool) -> Result<Frame> {
    let raw = match whole {
        true => open_whole(bytes, max_bytes)?.raw,
        false => open(bytes, max_bytes)?.raw,
    };
    Ok(Frame {
        stored: (raw.width, raw.height),
        orientation: raw.orientation,
    })
}

/// Decodes baseline and progressive JPEG: grey stays one channel, all other colour spaces become
/// RGB.
///
/// # Errors
/// [`CoreError::Image`] as for [`super::decode()`].
pub(super) fn decode(bytes: &[u8], max_bytes: u64) -> Result<Raw> {
    let Opened {
        mut decoder,
        options,
        space,
        len,
        mut raw,
    } = open_whole(bytes, max_bytes)?;
    decoder.set_options(options.set_strict_mode(true).jpeg_set_out_colorspace(space));
    raw.data = allocate(len)?;
    let decoded = decoder.decode_into(&mut raw.data);
    decoded.map_err(|e| explain(bytes, e))?;
    Ok(raw)
}

fn side(pixels: usize) -> u32 {
    u32::try_from(pixels).unwrap_or(u32::MAX)
}

/// Returns whether so many bytes can contain so many pixels, before memory is reserved for them. A
/// block of 64 pixels has at least one bit, so a byte has at most 512 pixels; twice as many are
/// accepted.
fn can_contain(bytes: usize, width: u32, height: u32) -> bool {
    u64::from(width) * u64::from(height) <= 1024 * bytes as u64
}

/// Returns whether the stream reaches its end marker.
///
/// Decoders detect a missing end only if a whole row of blocks is missing. Segments are skipped by
/// their lengths, so that the end marker of an embedded thumbnail does not count.
fn is_complete(bytes: &[u8]) -> bool {
    const START: u8 = 0xd8;
    const END: u8 = 0xd9;
    let mut at = 0;
    loop {
        // Skip to the next marker: past coded data, where 0xff is followed by 0 or a restart
        // marker, and past other bytes.
        let Some(skip) = bytes[at..]
            .windows(2)
            .position(|w| w[0] == 0xff && is_marker(w[1]))
        else {
            return false;
        };
        let marker = bytes[at + skip + 1];
        at += skip + 2;
        match marker {
            END => return true,
            START => {}
            _ => match bytes.get(at..at + 2) {
                Some(&[high, low]) => {
                    at += usize::from(u16::from_be_bytes([high, low]));
                    if at > bytes.len() {
                        return false;
                    }
                }
                _ => return false,
            },
        }
    }
}

/// Returns whether the byte after 0xff makes a marker here. Codes that occur inside coded data
/// (stuffing, restarts, fill) do not count.
fn is_marker(byte: u8) -> bool {
    !matches!(byte, 0x00 | 0x01 | 0xd0..=0xd7 | 0xff)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a file of 16 x 8 pixels of one grey.
    fn encoded(grey: u8) -> Vec<u8> {
        let mut bytes = Vec::new();
        let image = ::image::RgbImage::from_pixel(16, 8, ::image::Rgb([grey; 3]));
        let mut encoder = ::image::codecs::jpeg::JpegEncoder::new(&mut bytes);
        encoder.encode_image(&image).unwrap();
        bytes
    }

    #[test]
    fn the_end_marker_of_a_thumbnail_is_not_the_end() {
        let thumbnail = b"\xff\xd8\xff\xe1\x00\x08Exif\xff\xd9";
        assert!(!is_complete(thumbnail));
        let file = [
            &thumbnail[..],
            b"\xff\xda\x00\x02data\xff\x00\xff\xd0more\xff\xd9",
        ]
        .concat();
        assert!(is_complete(&file));
        for n in 0..file.len() {
            assert!(!is_complete(&file[..n]), "truncated at {n}");
        }
    }

    #[test]
    fn a_header_of_a_huge_image_without_its_data_is_refused() {
        // 20000 x 20000 pixels, three channels, and 35 kB in which no data is.
        let mut file = b"\xff\xd8\xff\xc0\x00\x11\x08\x4e\x20\x4e\x20\x03".to_vec();
        file.extend(b"\x01\x22\x00\x02\x11\x00\x03\x11\x00");
        file.extend(b"\xff\xda\x00\x0c\x03\x01\x00\x02\x00\x03\x00\x00\x3f\x00");
        file.resize(35_000, 0);
        file.extend(b"\xff\xd9");
        let message = decode(&file, u64::MAX).err().unwrap().to_string();
        assert!(message.contains("256 million"), "{message}");
        assert!(!can_contain(file.len(), 16_000, 16_000));
        // A flat image of 12 megapixels has at least 23 kB.
        assert!(can_contain(23_438, 4000, 3000));
    }

    #[test]
    fn the_first_image_of_a_file_with_several_is_read() {
        let first = encoded(200);
        let alone = decode(&first, u64::MAX).unwrap();
        // As phones store a second view (MPO), a gain map, or the film of a motion photo.
        let film = b"\0\0\0\x18ftypmp42\0\0\0\0isommp42\xff\xd8\xff\0".to_vec();
        for trailer in [encoded(9), film, b"SEFT\xff".to_vec()] {
            let bytes = [first.clone(), trailer].concat();
            let read = decode(&bytes, u64::MAX).unwrap();
            assert_eq!((read.width, read.height), (16, 8));
            assert_eq!(read.data, alone.data);
        }
    }

    #[test]
    fn headers_alone_tell_the_size() {
        let bytes = encoded(0);
        let head = &bytes[..bytes.len() - 2];
        assert!(frame(head, u64::MAX, true).is_err());
        assert_eq!(frame(head, u64::MAX, false).unwrap().stored, (16, 8));
    }
}
