//! Names what a file contains, for messages of readers that expected something else: pointers that were never
//! fetched, web pages that answered a download, archives, files of other programs.

use std::fmt;

use espalier_core::input::{beginning, is_image};

use super::gzip;

/// Content that was recognised, with advice for the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content {
    /// The name with its article, for example `a web page`.
    pub name: &'static str,
    /// Advice, for example `download the file itself again`.
    pub advice: &'static str,
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.name, self.advice)
    }
}

/// Bytes that [`recognise`] needs.
pub const HEAD: usize = 512;

const UNPACK: &str = "unpack it first";
const POINTER: &str = "fetch the file that it stands for with `git lfs pull`";
const ANNEX: &str = "fetch the file that it stands for with `git annex get`";
const PAGE: &str = "the server answered the download with it: download the file itself again";
const AGAIN: &str = "copy or download it again";
const WEIGHTS: &str = "take the weights that it was made from, as safetensors or a PyTorch file";
const OTHER: &str = "check the path";

/// Beginnings of files.
const STARTS: [(&[u8], &str, &str); 18] = [
    (b"version https://git-lfs", "a pointer of Git LFS", POINTER),
    (b"/annex/objects/", "a pointer of git-annex", ANNEX),
    (b"GGUF", "a GGUF file", WEIGHTS),
    (&gzip::MAGIC, "gzip", UNPACK),
    (b"\x28\xb5\x2f\xfd", "zstd", UNPACK),
    (b"\xfd7zXZ\0", "xz", UNPACK),
    (b"BZh", "bzip2", UNPACK),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", UNPACK),
    (b"Rar!\x1a", "a RAR archive", UNPACK),
    (b"PK\x03\x04", "a zip archive", UNPACK),
    (b"PK\x05\x06", "an empty zip archive", AGAIN),
    (b"PAR1", "parquet", OTHER),
    (b"PARE", "encrypted parquet", "decrypt it first"),
    (b"ARROW1", "an Arrow file", "write it as parquet"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", WEIGHTS),
    (b"\x93NUMPY", "a NumPy array", OTHER),
    (b"SQLite format 3\0", "a SQLite database", OTHER),
    (b"%PDF", "a PDF document", OTHER),
];

/// Recognises content by its first [`HEAD`] bytes; `None` for what has no clear mark.
pub fn recognise(head: &[u8]) -> Option<Content> {
    let content = |name, advice| Some(Content { name, advice });
    if head.is_empty() {
        return content("an empty file", AGAIN);
    }
    if head.iter().all(|byte| *byte == 0) {
        return content("zeros", AGAIN);
    }
    let known = STARTS.iter().find(|(start, ..)| head.starts_with(start));
    if let Some((_, name, advice)) = known {
        return content(name, advice);
    }
    if head.get(257..262) == Some(b"ustar") {
        return content("a tar archive", UNPACK);
    }
    if head.get(4..8) == Some(b"TFL3") {
        return content("a TensorFlow Lite model", WEIGHTS);
    }
    if is_image(head) {
        return content("an image", OTHER);
    }
    let text = String::from_utf8_lossy(head).to_ascii_lowercase();
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if text.starts_with("<!doctype html") || text.starts_with("<html") {
        return content("a web page", PAGE);
    }
    if text.starts_with("<?xml") && text.contains("<error>") {
        return content("an error message of object storage", PAGE);
    }
    None
}

/// Describes content for a message: `found a web page; …`, or its first bytes.
pub fn describe(head: &[u8]) -> String {
    match recognise(head) {
        Some(content) => format!("found {content}"),
        None => format!("found a file that starts with {}", beginning(head)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_downloads_and_copies_leave_is_named() {
        let mut tar = vec![0; HEAD];
        tar[0] = b'a';
        tar[257..262].copy_from_slice(b"ustar");
        let cases: [(&[u8], &str); 9] = [
            (b"", "an empty file"),
            (&[0; 32], "zeros"),
            (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS"),
            (b"\n<!DOCTYPE HTML><html>", "a web page"),
            (
                b"<?xml version=\"1.0\"?>\n<Error><Code>AccessDenied",
                "object storage",
            ),
            (b"GGUF\x03\0", "GGUF"),
            (b"\x1f\x8b\x08", "gzip"),
            (b"PK\x03\x04", "zip"),
            (&tar, "a tar archive"),
        ];
        for (head, name) in cases {
            let found = recognise(head).unwrap();
            assert!(found.name.contains(name), "{found:?}");
            assert!(describe(head).contains(found.advice));
        }
        for head in [
            &b"{\"a\": 1}"[..],
            b"tabby cat\n",
            b"\x10\0\0\0\0\0\0\0{\"a\":{}}",
        ] {
            assert_eq!(recognise(head), None);
        }
        assert_eq!(
            describe(b"tabby cat\n"),
            "found a file that starts with `tabby cat`"
        );
        assert!(describe(b"\x01\x02").ends_with("the bytes 01 02"));
    }
}
