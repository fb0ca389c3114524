//! File format, detected by the first bytes; the file name is never used.

use crate::error::{CoreError, Result};

/// Formats that [`super::decode()`] reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Jpeg,
    Png,
    WebP,
    Gif,
    Bmp,
}

impl Format {
    /// Returns the name for messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Jpeg => "JPEG",
            Self::Png => "PNG",
            Self::WebP => "WebP",
            Self::Gif => "GIF",
            Self::Bmp => "BMP",
        }
    }
}

/// Detects the format.
///
/// # Errors
/// [`CoreError::Image`] for an empty file, for a known format that is not supported (naming the
/// formats to convert to), and for anything else (quoting its first bytes).
pub(super) fn sniff(bytes: &[u8]) -> Result<Format> {
    if bytes.is_empty() {
        return Err(CoreError::Image("the file is empty (0 bytes)".into()));
    }
    if let Some(format) = readable(bytes) {
        return Ok(format);
    }
    if let Some(name) = unsupported_format(bytes) {
        return Err(CoreError::Image(format!(
            "{name} is not supported; convert to JPEG or PNG"
        )));
    }
    Err(CoreError::Image(format!(
        "this is not an image: expected JPEG, PNG, WebP, GIF or BMP, found a file that starts \
         with {}",
        beginning(bytes)
    )))
}

/// Returns whether the first bytes of a file are those of an image, also of one in a format that is not read.
#[must_use]
pub fn is_image(head: &[u8]) -> bool {
    let others = [
        "HEIC",
        "AVIF",
        "TIFF",
        "JPEG XL",
        "JPEG 2000",
        "QOI",
        "a Photoshop",
        "a PNM",
    ];
    let is_other = |name: String| others.iter().any(|other| name.starts_with(other));
    readable(head).is_some() || unsupported_format(head).is_some_and(is_other)
}

fn readable(bytes: &[u8]) -> Option<Format> {
    match bytes {
        [0xff, 0xd8, 0xff, ..] => Some(Format::Jpeg),
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Format::Png),
        [b'R', b'I', b'F', b'F', ..] if bytes.get(8..12) == Some(&b"WEBP"[..]) => {
            Some(Format::WebP)
        }
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Format::Gif),
        [b'B', b'M', ..] if is_bmp(bytes) => Some(Format::Bmp),
        _ => None,
    }
}

/// Two letters are not enough to detect a bitmap; a text about BMX has them too. The size of the
/// second header must be a valid one as well.
fn is_bmp(bytes: &[u8]) -> bool {
    let header_size = bytes.get(14..).and_then(<[u8]>::first_chunk);
    let header_size = header_size.map(|size| u32::from_le_bytes(*size));
    matches!(header_size, Some(12 | 16 | 40 | 52 | 56 | 64 | 108 | 124))
}

/// Returns the name of a common format that is not supported.
fn unsupported_format(bytes: &[u8]) -> Option<String> {
    let name = match bytes {
        [_, _, _, _, b'f', b't', b'y', b'p', ..] => return Some(iso_media(bytes)),
        [b'I', b'I', 42 | 43, 0, ..] | [b'M', b'M', 0, 42 | 43, ..] => "TIFF or camera raw",
        [0xff, 0x0a, ..] | [0, 0, 0, 12, b'J', b'X', b'L', b' ', ..] => "JPEG XL",
        [0xff, 0x4f, 0xff, 0x51, ..] | [0, 0, 0, 12, b'j', b'P', b' ', b' ', ..] => "JPEG 2000",
        [b'8', b'B', b'P', b'S', ..] => "a Photoshop document",
        [b'%', b'P', b'D', b'F', ..] => "PDF",
        [0, 0, 1 | 2, 0, ..] => "an icon file",
        [b'q', b'o', b'i', b'f', ..] => "QOI",
        [b'P', b'1'..=b'6', b'\n', b'0'..=b'9' | b'#', ..] => "a PNM (PPM, PGM, PBM)",
        _ if is_svg(bytes) => "SVG",
        _ => return None,
    };
    Some(name.to_owned())
}

fn is_svg(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(1024)];
    let text = String::from_utf8_lossy(head);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    text.starts_with("<svg") || (text.starts_with("<?xml") && text.contains("<svg"))
}

/// Names the kind of an ISO media file. HEIC, AVIF and videos share a container; the brand after
/// `ftyp` distinguishes them. If it is the general `mif1`, the compatible brands decide.
fn iso_media(bytes: &[u8]) -> String {
    let size = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    let end = bytes
        .len()
        .min(usize::try_from(size).unwrap_or(usize::MAX))
        .clamp(8, 256);
    let brands: Vec<&[u8]> = bytes[8..end.min(bytes.len())].chunks_exact(4).collect();
    let major = brands.first().copied().unwrap_or_default();
    let has_brand = |names: &[&[u8; 4]]| brands.iter().any(|b| names.iter().any(|name| b == name));
    let name = if has_brand(&[b"avif", b"avis"]) {
        "AVIF"
    } else if has_brand(&[
        b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1",
    ]) {
        "HEIC"
    } else {
        "a video or another ISO media file"
    };
    format!("{name} (brand `{}`)", printable(major))
}

/// Returns the beginning of a file for a message: as text if it is text, otherwise as bytes.
#[must_use]
pub fn beginning(bytes: &[u8]) -> String {
    let head = &bytes[..bytes.len().min(24)];
    // The window may end within a multi-byte character; the file is still text then.
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(e) if e.error_len().is_none() => {
            std::str::from_utf8(&head[..e.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => "",
    };
    let text = text.trim();
    if text.is_empty() || text.chars().any(|c| c.is_control() && !c.is_whitespace()) {
        let hex: Vec<String> = head.iter().take(8).map(|b| format!("{b:02x}")).collect();
        return format!("the bytes {}", hex.join(" "));
    }
    let line = text.lines().next().unwrap_or_default();
    let line: String = line.chars().take(20).collect();
    format!("`{line}`")
}

fn printable(bytes: &[u8]) -> String {
    let shown = |b: &u8| match b.is_ascii_graphic() {
        true => char::from(*b),
        false => '?',
    };
    bytes.iter().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(bytes: &[u8]) -> String {
        sniff(bytes).unwrap_err().to_string()
    }

    #[test]
    fn an_empty_file_is_reported_as_empty() {
        assert_eq!(message(b""), "image: the file is empty (0 bytes)");
    }

    #[test]
    fn a_text_is_quoted() {
        assert_eq!(
            message(b"hello, I am a text file\nwith two lines"),
            "image: this is not an image: expected JPEG, PNG, WebP, GIF or BMP, found a file \
             that starts with `hello, I am a text f`"
        );
        assert!(message("žluťoučký kůň úpěl ďábelské ódy".as_bytes()).contains("`žluťoučký kůň"));
    }

    #[test]
    fn binary_data_is_shown_as_bytes() {
        assert!(message(&[0, 1, 2, 0xfe, 5]).ends_with("starts with the bytes 00 01 02 fe 05"));
        assert!(message(b"\0").ends_with("starts with the bytes 00"));
    }

    #[test]
    fn a_text_that_starts_like_a_bitmap_is_not_a_bitmap() {
        assert!(message(b"BMX is a sport for young and old").contains("`BMX is a sport"));
        assert!(message(b"BM").contains("`BM`"));
    }

    #[test]
    fn unsupported_formats_of_phones_are_named_with_advice() {
        let heic = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic";
        assert_eq!(
            message(heic),
            "image: HEIC (brand `heic`) is not supported; convert to JPEG or PNG"
        );
        let avif = b"\0\0\0\x1cftypmif1\0\0\0\0mif1avifmiaf";
        assert!(message(avif).starts_with("image: AVIF (brand `mif1`)"));
        let video = b"\0\0\0\x18ftypisom\0\0\0\0isommp41";
        assert!(message(video).starts_with("image: a video or another ISO media file"));
        assert!(message(b"\0\0\0\x00ftyp").contains("(brand ``)"));
    }

    #[test]
    fn other_known_formats_are_named() {
        for (bytes, name) in [
            (&b"II*\0rest"[..], "TIFF"),
            (b"%PDF-1.7", "PDF"),
            (b"  <svg xmlns='http://www.w3.org/2000/svg'>", "SVG"),
            (b"<?xml version='1.0'?><svg>", "SVG"),
            (b"8BPS", "Photoshop"),
            (b"\xff\x0a\0\0", "JPEG XL"),
        ] {
            assert!(message(bytes).contains(name), "{name}: {}", message(bytes));
        }
    }

    #[test]
    fn every_prefix_of_every_signature_is_handled() {
        let signatures: [&[u8]; 6] = [
            b"\xff\xd8\xff\xe0",
            b"\x89PNG\r\n\x1a\n",
            b"RIFF\0\0\0\0WEBPVP8 ",
            b"GIF89a",
            b"BM\0\0\0\0\0\0\0\0\0\0\0\0\x28\0\0\0",
            b"\0\0\0\x18ftypheic\0\0\0\0",
        ];
        for signature in signatures {
            for n in 0..signature.len() {
                let _ = sniff(&signature[..n]);
            }
        }
        assert_eq!(sniff(signatures[0]).unwrap(), Format::Jpeg);
        assert_eq!(sniff(signatures[1]).unwrap(), Format::Png);
        assert_eq!(sniff(signatures[2]).unwrap(), Format::WebP);
        assert_eq!(sniff(signatures[3]).unwrap(), Format::Gif);
        assert_eq!(sniff(signatures[4]).unwrap(), Format::Bmp);
    }
}
