//! Reading of whole files that a user names.
//!
//! Only regular files are read: a named pipe may never send anything and a device such as
//! `/dev/zero` never ends.

use std::fs::{self, File};
use std::io::{Error, ErrorKind, Result};
use std::path::Path;

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
    std::io::Read::read_to_end(&mut file, &mut bytes)?;
    Ok(bytes)
}

/// Reads a regular file as text.
///
/// # Errors
/// As [`open`], and [`ErrorKind::InvalidData`] for text that is not UTF-8, with its line.
pub fn text(path: impl AsRef<Path>) -> Result<String> {
    String::from_utf8(bytes(path)?).map_err(|e| {
        let valid = e.utf8_error().valid_up_to();
        let line = 1 + e.as_bytes()[..valid]
            .iter()
            .filter(|b| **b == b'\n')
            .count();
        let byte = e.as_bytes()[valid];
        Error::new(
            ErrorKind::InvalidData,
            format!(
                "line {line}: expected text in UTF-8, found the byte {byte:#04x}; save the file as \
                 UTF-8"
            ),
        )
    })
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
    fn a_folder_and_a_device_are_refused() {
        let error = |path: &Path| bytes(path).unwrap_err().to_string();
        assert!(error(&std::env::temp_dir()).contains("expected a file, found a folder"));
        if cfg!(unix) {
            assert!(error(Path::new("/dev/zero")).contains("found a device"));
        }
    }
}
