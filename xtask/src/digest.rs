//! Hashes that identify build results.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256, Sha384};

/// Returns the first 16 hexadecimal digits of the SHA-256 of some files, enough to distinguish
/// builds.
pub fn short(contents: &[Vec<u8>]) -> String {
    let mut hash = Sha256::new();
    for content in contents {
        hash.update((content.len() as u64).to_le_bytes());
        hash.update(content);
    }
    hex(&hash.finalize()[..8])
}

/// Returns bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the value of an `integrity` attribute.
pub fn integrity(content: &[u8]) -> String {
    format!("sha384-{}", BASE64_STANDARD.encode(Sha384::digest(content)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integrity_is_that_of_openssl() {
        // printf abc | openssl dgst -sha384 -binary | base64
        assert_eq!(
            integrity(b"abc"),
            "sha384-ywB1P0WjXou1oD1pmsZQBycsMqsO3tFjGotgWkP/W+2AhgcroefMI1i67KE0yCWn"
        );
    }

    #[test]
    fn a_short_name_follows_contents_and_their_bounds() {
        let name = |parts: &[&str]| {
            short(
                &parts
                    .iter()
                    .map(|p| p.as_bytes().to_vec())
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(name(&["ab", "c"]).len(), 16);
        assert_ne!(name(&["ab", "c"]), name(&["a", "bc"]));
        assert_eq!(name(&["ab", "c"]), name(&["ab", "c"]));
    }
}
