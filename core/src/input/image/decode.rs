//! From the bytes of an image file to upright 8-bit RGB.

use std::io::Cursor;

use ::image::codecs::{bmp::BmpDecoder, gif::GifDecoder, png::PngDecoder, webp::WebPDecoder};
use ::image::error::{ImageError, LimitErrorKind};
use ::image::metadata::Orientation;
use ::image::{ImageDecoder, Limits, RgbImage};

use super::frame::Frame;
use super::raw::{MAX_DECODED_BYTES, Raw, allocate, check_size, truncated};
use super::sniff::{Format, sniff};
use super::{blend, jpeg, orient, png};
use crate::error::{CoreError, Result};

/// Decodes an image: upright, 8 bits per channel, RGB.
///
/// | | |
/// |---|---|
/// | format | JPEG, PNG, WebP, GIF, BMP; detected by content, never by name |
/// | colour | grey, palette, RGB, `YCbCr`, and CMYK or YCCK as Adobe writes them (inverted) |
/// | depth | 1 to 16 bits per channel; 16 bits are rounded to 8, not truncated |
/// | alpha | blended on white |
/// | animation | the first frame |
/// | orientation | the EXIF flag of JPEG, PNG and WebP is applied, once |
///
/// Colour profiles are not applied: models are trained on the stored values.
///
/// # Errors
/// [`CoreError::Image`], worded for the owner of the photo: not an image, an unsupported format
/// (naming the formats to convert to), larger than [`MAX_SIDE`](super::MAX_SIDE),
/// [`MAX_PIXELS`](super::MAX_PIXELS) or [`MAX_DECODED_BYTES`], truncated, or damaged. A file that ends early is an error, not an image
/// with a grey half.
pub fn decode(bytes: &[u8]) -> Result<RgbImage> {
    decode_within(bytes, MAX_DECODED_BYTES)
}

/// Decodes an image as [`decode`] does, with another limit than [`MAX_DECODED_BYTES`] for the size of
/// its pixels.
///
/// # Errors
/// As [`decode`].
pub fn decode_within(bytes: &[u8], max_bytes: u64) -> Result<RgbImage> {
    let format = sniff(bytes)?;
    let raw = match format {
        Format::Jpeg => jpeg::decode(bytes, max_bytes)?,
        _ => read(format, bytes, max_bytes)?,
    };
    let orientation = raw.orientation;
    Ok(orient::apply(blend::to_rgb(raw)?, orientation))
}

/// Returns the width and height that [`decode`] gives, without decoding the pixels.
///
/// # Errors
/// As [`decode`], except that damaged pixels are not noticed.
pub fn decoded_size(bytes: &[u8]) -> Result<(u32, u32)> {
    Ok(frame(bytes, true)?.upright())
}

/// Returns the frames of an image from the headers of its file.
///
/// # Errors
/// As [`decoded_size`], except that a file that ends early may not be noticed.
pub fn frame_of(bytes: &[u8]) -> Result<Frame> {
    frame(bytes, false)
}

fn frame(bytes: &[u8], whole: bool) -> Result<Frame> {
    let format = sniff(bytes)?;
    if format == Format::Jpeg {
        return jpeg::frame(bytes, MAX_DECODED_BYTES, whole);
    }
    let opened = open(format, bytes, MAX_DECODED_BYTES)?;
    Ok(Frame {
        stored: opened.decoder.dimensions(),
        orientation: opened.orientation,
    })
}

/// An image whose headers were read and found usable.
struct Opened<'a> {
    decoder: Box<dyn ImageDecoder + 'a>,
    /// Bytes of the pixels.
    len: usize,
    orientation: Orientation,
}

/// Reads the headers and checks all that can be checked without decoding the pixels.
fn open(format: Format, bytes: &[u8], max_bytes: u64) -> Result<Opened<'_>> {
    let failed = |e: ImageError| explain(format, bytes, max_bytes, e);
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(max_bytes);
    let file = Cursor::new(bytes);
    let mut decoder: Box<dyn ImageDecoder + '_> = match format {
        Format::Png => Box::new(PngDecoder::with_limits(file, limits.clone()).map_err(failed)?),
        Format::WebP => Box::new(WebPDecoder::new(file).map_err(failed)?),
        Format::Gif => Box::new(GifDecoder::new(file).map_err(failed)?),
        Format::Bmp | Format::Jpeg => Box::new(BmpDecoder::new(file).map_err(failed)?),
    };
    let bytes_per_pixel = decoder.color_type().bytes_per_pixel();
    let len = check_size(decoder.dimensions(), bytes_per_pixel, max_bytes)?;
    decoder.set_limits(limits).map_err(failed)?;
    if !is_complete(format, bytes) {
        return Err(CoreError::Image(truncated(format.name(), bytes.len())));
    }
    let orientation = match format {
        Format::Png => orient::from_exif(png::chunks(bytes).exif),
        // An image with unreadable metadata is still an image.
        _ => orient::from_exif(decoder.exif_metadata().ok().flatten().as_deref()),
    };
    Ok(Opened {
        decoder,
        len,
        orientation,
    })
}

fn read(format: Format, bytes: &[u8], max_bytes: u64) -> Result<Raw> {
    let Opened {
        decoder,
        len,
        orientation,
    } = open(format, bytes, max_bytes)?;
    let (width, height) = decoder.dimensions();
    let color = decoder.color_type();
    let mut data = allocate(len)?;
    decoder
        .read_image_boxed(&mut data)
        .map_err(|e| explain(format, bytes, max_bytes, e))?;
    Ok(Raw {
        width,
        height,
        color,
        data,
        orientation,
    })
}

/// Returns whether a file reaches the end that its format declares; true for formats that declare
/// none. The decoders check the pixels themselves, but data after the pixels may be missing, such
/// as the orientation.
fn is_complete(format: Format, bytes: &[u8]) -> bool {
    match format {
        Format::Png => png::chunks(bytes).complete,
        Format::WebP => {
            let size = bytes.get(4..).and_then(<[u8]>::first_chunk);
            let end = size.map(|size| u64::from(u32::from_le_bytes(*size)) + 8);
            end.is_some_and(|end| bytes.len() as u64 >= end)
        }
        _ => true,
    }
}

fn explain(format: Format, bytes: &[u8], max_bytes: u64, error: ImageError) -> CoreError {
    let name = format.name();
    CoreError::Image(match &error {
        ImageError::Limits(e) if e.kind() == LimitErrorKind::InsufficientMemory => {
            format!(
                "this {name} needs more than {} MiB of memory",
                max_bytes >> 20
            )
        }
        ImageError::Unsupported(_) => {
            format!("this kind of {name} is not supported; save it again as JPEG or PNG ({error})")
        }
        _ if ends_early(&error) || !is_complete(format, bytes) => truncated(name, bytes.len()),
        _ => format!("this {name} is damaged: {error}"),
    })
}

/// Returns whether a decoder ran out of bytes. The decoders wrap this error differently, so the
/// whole chain of causes is searched.
fn ends_early(error: &ImageError) -> bool {
    if let ImageError::IoError(e) = error {
        return e.kind() == std::io::ErrorKind::UnexpectedEof;
    }
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(e) = cause {
        if let Some(io) = e.downcast_ref::<std::io::Error>()
            && io.kind() == std::io::ErrorKind::UnexpectedEof
        {
            return true;
        }
        cause = e.source();
    }
    let text = error.to_string().to_lowercase();
    text.contains("unexpected end") || text.contains("unexpected eof")
}
