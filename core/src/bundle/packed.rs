//! Files that travel deflated, whatever their host does to what it serves.
//!
//! A host of static files compresses texts and programs at best. Weights of few levels leave a third
//! of their bytes to be saved, so they are deflated before they are written and hashed.

use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

/// The most that miniz does; a bundle is written once.
const EFFORT: u8 = 10;

/// The content of a file as it travels, in zlib's format.
#[must_use]
pub fn pack(content: &[u8]) -> Vec<u8> {
    compress_to_vec_zlib(content, EFFORT)
}

/// The content of a packed file, which must be `length` bytes long.
///
/// # Errors
/// Says what was found when it is not zlib's format or of another length.
pub(super) fn unpack(packed: &[u8], length: u64) -> Result<Vec<u8>, String> {
    let limit = usize::try_from(length).unwrap_or(usize::MAX);
    let content = decompress_to_vec_zlib_with_limit(packed, limit)
        .map_err(|e| format!("expected {length} bytes deflated by zlib: {e}"))?;
    if content.len() == limit {
        return Ok(content);
    }
    Err(format!(
        "expected {length} bytes when inflated, found {}",
        content.len()
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_is_packed_comes_back_and_no_more_than_was_said() {
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
