//! Compression of bundle files, independent of the web server.
//!
//! A host of static files compresses only texts and programs, if anything. Weights that are
//! quantised to few levels can still be compressed by a third, so they are compressed before they
//! are written and hashed.

use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

/// Highest compression level of miniz; a bundle is written only once.
const COMPRESSION_LEVEL: u8 = 10;

/// Compresses the content of a file, in zlib format.
#[must_use]
pub fn pack(content: &[u8]) -> Vec<u8> {
    compress_to_vec_zlib(content, COMPRESSION_LEVEL)
}

/// Decompresses a packed file, whose content must be `length` bytes long.
///
/// # Errors
/// A message with what was found when it is not zlib format or has another length.
pub(super) fn unpack(packed: &[u8], length: u64) -> Result<Vec<u8>, String> {
    let limit = usize::try_from(length).unwrap_or(usize::MAX);
    let content = decompress_to_vec_zlib_with_limit(packed, limit)
        .map_err(|e| format!("expected {length} bytes compressed in zlib format: {e}"))?;
    if content.len() == limit {
        return Ok(content);
    }
    Err(format!(
        "expected {length} bytes after decompression, found {}",
        content.len()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_is_reversible_and_the_length_is_enforced() {
        let content: Vec<u8> = (0..5000_u32).map(|i| (i * i % 61) as u8).collect();
        let packed = pack(&content);
        assert!(packed.len() < content.len());
        assert_eq!(unpack(&packed, 5000).unwrap(), content);
        for (bytes, length) in [(&packed[..], 4999), (&packed, 5001), (&packed[..40], 5000)] {
            let reason = unpack(bytes, length).unwrap_err();
            assert!(reason.contains(&length.to_string()), "{reason}");
        }
        assert!(unpack(&content, 5000).is_err());
    }
}
