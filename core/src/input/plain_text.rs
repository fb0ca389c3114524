//! Bytes of a text file to text: byte order marks, line ends, encodings.

use crate::error::{CoreError, Result};

/// Byte order mark of UTF-8.
const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";
/// Bytes that show whether a text without a byte order mark is UTF-16.
const HEAD: usize = 256;

/// Returns the text of a file: UTF-8, with or without a byte order mark, or UTF-16 with one. All lines end with
/// a line feed, also those that ended with a carriage return or with both.
///
/// # Errors
/// [`CoreError::Text`] for bytes in another encoding, with the line and the name of the encoding where it can be
/// recognised.
pub fn decode_text(mut bytes: Vec<u8>) -> Result<String> {
    let text = match bytes.as_slice() {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => {
            return fail(1, "UTF-32".to_owned());
        }
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes)?,
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes)?,
        _ => {
            if bytes.starts_with(UTF8_MARK) {
                bytes.drain(..UTF8_MARK.len());
            }
            if looks_like_utf16(&bytes) {
                return fail(1, "UTF-16 without a byte order mark".to_owned());
            }
            String::from_utf8(bytes).or_else(|e| {
                let valid = e.utf8_error().valid_up_to();
                let (before, after) = e.as_bytes().split_at(valid);
                let line = 1 + before.iter().filter(|b| **b == b'\n').count();
                let byte = after.first().copied().unwrap_or_default();
                let found = match e.as_bytes().contains(&0) {
                    true => format!("binary data (the byte {byte:#04x})"),
                    false => format!("the byte {byte:#04x}, as in Latin-1 or Windows-1252"),
                };
                fail(line, found)
            })?
        }
    };
    Ok(match text.contains('\r') {
        true => text.replace("\r\n", "\n").replace('\r', "\n"),
        false => text,
    })
}

fn fail<T>(line: usize, found: String) -> Result<T> {
    Err(CoreError::Text { line, found })
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String> {
    let units: Vec<u16> = bytes
        .chunks_exact(2)
        .map(|pair| unit([pair[0], pair[1]]))
        .collect();
    match String::from_utf16(&units) {
        Ok(text) if bytes.len().is_multiple_of(2) => Ok(text),
        _ => fail(1, "damaged UTF-16".to_owned()),
    }
}

/// Returns whether every other byte at the beginning is zero, as in Latin letters of UTF-16.
fn looks_like_utf16(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(HEAD) & !1];
    let zeros = |from: usize| {
        let units = head.iter().skip(from).step_by(2);
        head.len() >= 4 && units.clone().filter(|b| **b == 0).count() * 4 > units.count() * 3
    };
    zeros(0) != zeros(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_and_line_ends_of_all_systems_give_one_text() {
        let expected = "tabby cat\ncafé\n";
        for (text, mark) in [
            ("tabby cat\ncafé\n", ""),
            ("tabby cat\r\ncafé\r\n", "\u{feff}"),
            ("tabby cat\rcafé\r", ""),
        ] {
            let marked = format!("{mark}{text}");
            assert_eq!(decode_text(marked.clone().into_bytes()).unwrap(), expected);
            let units: Vec<u16> = format!("\u{feff}{text}").encode_utf16().collect();
            let little = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
            let big = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
            assert_eq!(decode_text(little).unwrap(), expected);
            assert_eq!(decode_text(big).unwrap(), expected);
        }
        assert_eq!(decode_text(Vec::new()).unwrap(), "");
    }

    #[test]
    fn other_encodings_are_named_with_their_line() {
        let message = |bytes: &[u8]| decode_text(bytes.to_vec()).unwrap_err().to_string();
        let latin = message(b"caf\xc3\xa9\nna\xefve\n");
        assert!(
            latin.contains("line 2") && latin.contains("0xef"),
            "{latin}"
        );
        assert!(latin.contains("Latin-1"), "{latin}");
        assert!(message(b"c\0a\0t\0\n\0").contains("UTF-16 without"));
        assert!(message(b"\0c\0a\0t\0\n").contains("UTF-16 without"));
        assert!(message(b"\xff\xfec\0a").contains("damaged UTF-16"));
        assert!(message(b"\xff\xfe\0\0c\0\0\0").contains("UTF-32"));
        assert!(message(b"PAR1\0\xff\xff").contains("binary data"));
    }
}
