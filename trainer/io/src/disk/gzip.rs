//! Reading of compressed text with a limit: a few megabytes may unpack to gigabytes.

use std::io::{Error, ErrorKind, Read, Result};

use flate2::read::MultiGzDecoder;

/// Largest unpacked size in bytes: 256 MiB. All nouns of WordNet take 13 MiB, the captions of
/// HierarCaps 35.
const MAX_UNPACKED: u64 = 256 << 20;

/// First bytes of a file compressed with gzip (RFC 1952, section 2.3.1).
pub const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Unpacks gzip up to a number of bytes; more are an error.
pub struct Unpacked<R> {
    decoder: MultiGzDecoder<R>,
    left: u64,
}

impl<R: Read> Unpacked<R> {
    /// Creates a reader of at most 256 MiB.
    pub fn new(packed: R) -> Self {
        Self::with_limit(packed, MAX_UNPACKED)
    }

    fn with_limit(packed: R, limit: u64) -> Self {
        Self {
            decoder: MultiGzDecoder::new(packed),
            left: limit,
        }
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        let count = self.decoder.read(into)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| {
            Error::new(
                ErrorKind::FileTooLarge,
                format!(
                    "expected at most {} MiB of text after unpacking, found more",
                    MAX_UNPACKED >> 20
                ),
            )
        })?;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn more_bytes_than_the_limit_are_an_error() {
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(&[b'a'; 100_000]).unwrap();
        let packed = packed.finish().unwrap();
        assert!(packed.len() < 1000);
        let read = |limit| {
            let mut text = String::new();
            let read = Unpacked::with_limit(packed.as_slice(), limit).read_to_string(&mut text);
            (read.map_err(|e| e.kind()), text.len())
        };
        assert_eq!(read(100_000), (Ok(100_000), 100_000));
        let (error, _) = read(50_000);
        assert_eq!(error, Err(ErrorKind::FileTooLarge));
    }
}
