//! Bytes of a picture file to upright 8-bit RGB.

use std::io::Cursor;

use ::image::codecs::{bmp::BmpDecoder, gif::GifDecoder, png::PngDecoder, webp::WebPDecoder};
use ::image::error::{ImageError, LimitErrorKind};
use ::image::metadata::Orientation;
use ::image::{ColorType, ImageDecoder, Limits, RgbImage};

use super::sniff::{Format, sniff};
use super::{blend, jpeg, orient, png};
use crate::error::{CoreError, Result};

/// Most bytes that the pixels of one picture may take, as stored in the file's own channels and
/// depth and as 8-bit RGB: 1200 MiB.
///
/// 12000 x 12000 pixels fit at any depth (RGBA with 16 bits a channel: 1099 MiB). The page has 4 GiB
/// of address space for everything; a decoder's own tables come on top.
pub const MAX_DECODED_BYTES: u64 = 1200 << 20;

/// Longest side in pixels. Longer pictures are not photos.
pub const MAX_SIDE: u32 = 30_000;

/// Pixels as the file stores them, before [`blend::to_rgb`].
pub(super) struct Raw {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) color: ColorType,
    /// `width * height * color.bytes_per_pixel()` bytes, 16-bit channels in the machine's order.
    pub(super) data: Vec<u8>,
    pub(super) orientation: Orientation,
}

/// Decodes a picture: upright, 8 bits a channel, RGB.
///
/// | | |
/// |---|---|
/// | format | JPEG, PNG, WebP, GIF, BMP; recognised by content, never by name |
/// | colour | grey, palette, RGB, `YCbCr`, and CMYK or YCCK as Adobe writes them (inverted) |
/// | depth | 1 to 16 bits a channel; 16 bits are rounded to 8, not cut |
/// | alpha | blended on white |
/// | animation | the first frame |
/// | orientation | the EXIF flag of JPEG, PNG and WebP is applied, once |
///
/// Colour profiles are not applied: models are trained on the stored numbers.
///
/// # Errors
/// [`CoreError::Image`], in words for the person whose picture it is: not a picture, a format that
/// is not read (and what to convert it to), larger than [`MAX_SIDE`] or [`MAX_DECODED_BYTES`], cut
/// off, or damaged. A file that ends early is an error, not a picture with a grey half.
pub fn decode(bytes: &[u8]) -> Result<RgbImage> {
    let format = sniff(bytes)?;
    let raw = match format {
        Format::Jpeg => jpeg::decode(bytes)?,
        _ => read(format, bytes).map_err(|e| explain(format, bytes, e))?,
    };
    let orientation = raw.orientation;
    Ok(orient::apply(blend::to_rgb(raw)?, orientation))
}

/// Either an error that already says all there is to say, or one of the decoder's.
enum Failure {
    Ours(CoreError),
    Decoder(ImageError),
}

impl From<CoreError> for Failure {
    fn from(error: CoreError) -> Self {
        Self::Ours(error)
    }
}

impl From<ImageError> for Failure {
    fn from(error: ImageError) -> Self {
        Self::Decoder(error)
    }
}

fn read(format: Format, bytes: &[u8]) -> Result<Raw, Failure> {
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(MAX_DECODED_BYTES);
    let file = Cursor::new(bytes);
    let mut decoder: Box<dyn ImageDecoder + '_> = match format {
        Format::Png => Box::new(PngDecoder::with_limits(file, limits.clone())?),
        Format::WebP => Box::new(WebPDecoder::new(file)?),
        Format::Gif => Box::new(GifDecoder::new(file)?),
        Format::Bmp | Format::Jpeg => Box::new(BmpDecoder::new(file)?),
    };
    let (width, height) = decoder.dimensions();
    let color = decoder.color_type();
    let len = check_size(width, height, color.bytes_per_pixel())?;
    decoder.set_limits(limits)?;
    if !is_complete(format, bytes) {
        return Err(CoreError::Image(cut_off(format.name(), bytes.len())).into());
    }
    let orientation = match format {
        Format::Png => orient::from_exif(png::chunks(bytes).exif),
        // A picture with unreadable metadata is still a picture.
        _ => orient::from_exif(decoder.exif_metadata().ok().flatten().as_deref()),
    };
    let mut data = allocate(len)?;
    decoder.read_image_boxed(&mut data)?;
    Ok(Raw {
        width,
        height,
        color,
        data,
        orientation,
    })
}

/// Whether a file goes on to where its format says that it ends, for the formats that say so. The
/// decoders find out whether the pixels are there; what is missing behind them may be the
/// orientation.
fn is_complete(format: Format, bytes: &[u8]) -> bool {
    match format {
        Format::Png => png::chunks(bytes).complete,
        Format::WebP => {
            let size = bytes
                .get(4..8)
                .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
            size.is_some_and(|size| bytes.len() as u64 >= u64::from(size) + 8)
        }
        _ => true,
    }
}

/// Number of bytes of the pixels, if they fit the budget.
pub(super) fn check_size(width: u32, height: u32, bytes_per_pixel: u8) -> Result<usize> {
    if width == 0 || height == 0 {
        return Err(CoreError::Image(format!(
            "the picture has no pixels ({width} x {height})"
        )));
    }
    if width > MAX_SIDE || height > MAX_SIDE {
        return Err(CoreError::Image(format!(
            "{width} x {height} pixels are too many; a side may have {MAX_SIDE}: make the picture \
             smaller"
        )));
    }
    let pixels = u64::from(width) * u64::from(height);
    let len = pixels * u64::from(bytes_per_pixel);
    let needed = len.max(pixels * 3);
    match usize::try_from(len) {
        Ok(len) if needed <= MAX_DECODED_BYTES => Ok(len),
        _ => Err(CoreError::Image(format!(
            "{width} x {height} pixels need {} MiB of memory and {} MiB are allowed: make the \
             picture smaller",
            needed.div_ceil(1 << 20),
            MAX_DECODED_BYTES >> 20
        ))),
    }
}

/// A buffer of zeros, or an error where the machine has no room for it.
pub(super) fn allocate(len: usize) -> Result<Vec<u8>> {
    let mut data = Vec::new();
    data.try_reserve_exact(len).map_err(|_| {
        CoreError::Image(format!(
            "no memory for the {} MiB that the picture needs: make it smaller",
            len.div_ceil(1 << 20)
        ))
    })?;
    data.resize(len, 0);
    Ok(data)
}

fn explain(format: Format, bytes: &[u8], failure: Failure) -> CoreError {
    let error = match failure {
        Failure::Ours(error) => return error,
        Failure::Decoder(error) => error,
    };
    let name = format.name();
    CoreError::Image(match &error {
        ImageError::Limits(e) if e.kind() == LimitErrorKind::InsufficientMemory => {
            format!(
                "this {name} needs more than {} MiB of memory",
                MAX_DECODED_BYTES >> 20
            )
        }
        ImageError::Unsupported(_) => {
            format!("this kind of {name} is not supported; save it again as JPEG or PNG ({error})")
        }
        _ if ends_early(&error) || !is_complete(format, bytes) => cut_off(name, bytes.len()),
        _ => format!("this {name} is damaged: {error}"),
    })
}

/// Message for a file that stops before its picture does.
pub(super) fn cut_off(name: &str, len: usize) -> String {
    format!("this {name} is cut off: it ends after {len} bytes, before the picture is complete")
}

/// Whether a decoder ran out of bytes. The decoders wrap that differently, so the whole chain of
/// causes is looked at.
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
