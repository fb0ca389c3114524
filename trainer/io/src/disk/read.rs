//! Reading of whole files that a user names.
//!
//! Only regular files are read: a named pipe may never send anything and a device such as
//! `/dev/zero` never ends.

use std::fs::{self, File};
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

use espalier_core::input::decode_text;
use serde::de::DeserializeOwned;

use super::content;
use super::gzip::{self, Unpacked};

/// Names what a path is, if it is not a regular file.
fn kind(found: &fs::Metadata) -> &'static str {
    if found.is_dir() {
        return "a folder";
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = found.file_type();
        if kind.is_fifo() {
            return "a pipe";
        }
        if kind.is_socket() {
            return "a socket";
        }
    }
    "a device"
}

/// Opens a regular file.
///
/// # Errors
/// The system's, and [`ErrorKind::InvalidInput`] for what is not a regular file.
pub fn open(path: impl AsRef<Path>) -> Result<File> {
    let path = path.as_ref();
    // Before the file is opened, because opening a pipe waits for its other end.
    let found = fs::metadata(path)?;
    if !found.is_file() {
        let found = kind(&found);
        return Err(Error::new(
            ErrorKind::InvalidInput,
            format!("expected a file, found {found}; copy its content into a file first"),
        ));
    }
    File::open(path)
}

/// Reads a regular file.
///
/// # Errors
/// As [`open`].
pub fn bytes(path: impl AsRef<Path>) -> Result<Vec<u8>> {
    let mut file = open(path)?;
    let mut bytes = Vec::with_capacity(file.metadata()?.len() as usize);
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a regular file as text: UTF-8 or UTF-16, with or without a byte order mark, plain or compressed with gzip.
/// All lines end with a line feed.
///
/// # Errors
/// As [`open`], and [`ErrorKind::InvalidData`] for text in another encoding, with its line, and for a pointer or a
/// web page in place of the file.
pub fn text(path: impl AsRef<Path>) -> Result<String> {
    text_of(bytes(path)?)
}

/// As [`text`], of bytes that were read already.
///
/// # Errors
/// As [`text`].
pub fn text_of(bytes: Vec<u8>) -> Result<String> {
    let fail = |reason: String| Error::new(ErrorKind::InvalidData, reason);
    let bytes = match bytes.starts_with(&gzip::MAGIC) {
        true => {
            let mut unpacked = Vec::new();
            Unpacked::new(bytes.as_slice()).read_to_end(&mut unpacked)?;
            unpacked
        }
        false => bytes,
    };
    let head = &bytes[..bytes.len().min(content::HEAD)];
    if !bytes.is_empty()
        && let Some(found) = content::recognise(head)
    {
        return Err(fail(format!("expected text, found {found}")));
    }
    decode_text(bytes).map_err(|e| fail(e.to_string()))
}

/// Reads the first bytes of a file as text, up to a line's end, for the recognition of its layout.
///
/// # Errors
/// As [`open`].
pub fn head(path: impl AsRef<Path>, bytes: u64) -> Result<String> {
    let mut head = Vec::new();
    open(&path)?.take(bytes).read_to_end(&mut head)?;
    if head.starts_with(&gzip::MAGIC) {
        let mut unpacked = Vec::new();
        Unpacked::new(open(&path)?)
            .take(bytes)
            .read_to_end(&mut unpacked)?;
        head = unpacked;
    }
    if head.len() as u64 == bytes
        && let Some(end) = head.iter().rposition(|b| *b == b'\n')
    {
        head.truncate(end + 1);
    }
    Ok(decode_text(head.clone()).unwrap_or_else(|_| String::from_utf8_lossy(&head).into_owned()))
}

/// Reads a JSON file.
///
/// # Errors
/// As [`text`], and [`ErrorKind::InvalidData`] for text that is not JSON or has another layout, with its line and
/// column.
pub fn json<T: DeserializeOwned>(path: impl AsRef<Path>) -> Result<T> {
    let text = text(path)?;
    serde_json::from_str(&text).map_err(|e| Error::new(ErrorKind::InvalidData, e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_is_not_utf_8_is_refused_with_its_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.tsv");
        fs::write(&path, b"caf\xc3\xa9\nna\xefve\n").unwrap();
        let error = text(&path).unwrap_err().to_string();
        assert!(
            error.starts_with("line 2: ") && error.contains("0xef"),
            "{error}"
        );
        fs::write(&path, "café\n").unwrap();
        assert_eq!(text(&path).unwrap(), "café\n");
    }

    #[test]
    fn json_may_begin_with_a_mark_and_a_page_in_its_place_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        fs::write(&path, "\u{feff}[1,\r\n2]").unwrap();
        assert_eq!(json::<Vec<u8>>(&path).unwrap(), [1, 2]);
        let error = |content: &str| {
            fs::write(&path, content).unwrap();
            json::<Vec<u8>>(&path).unwrap_err().to_string()
        };
        assert!(error("<!doctype html><p>sorry").contains("found a web page"));
        assert!(error("version https://git-lfs.github.com/spec/v1").contains("git lfs pull"));
        assert!(error("[1,\n\"").contains("line 2"));
    }

    #[test]
    fn a_folder_and_a_device_are_refused() {
        let error = |path: &Path| bytes(path).unwrap_err().to_string();
        assert!(error(&std::env::temp_dir()).contains("expected a file, found a folder"));
        if cfg!(unix) {
            assert!(error(Path::new("/dev/zero")).contains("found a device"));
        }
    }
}
