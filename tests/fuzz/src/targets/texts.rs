//! Text files in any encoding, and what a file is when it is not the one that was expected.

use espalier_core::input::decode_text;
use espalier_trainer::disk::{content, read};

/// Decodes a text, unpacks it if it is compressed, and names its content.
///
/// # Panics
/// If a text has a carriage return, or is another text when it is read again.
pub fn run(input: &[u8]) {
    assert!(!content::describe(input).is_empty());
    let Ok(text) = decode_text(input.to_vec()) else {
        return;
    };
    assert!(!text.contains('\r'));
    // A text that begins with a second byte order mark loses that one, too.
    if !text.starts_with('\u{feff}') {
        let again = decode_text(text.clone().into_bytes());
        assert_eq!(again.ok().as_deref(), Some(text.as_str()));
    }
    if let Ok(same) = read::text_of(input.to_vec()) {
        assert!(input.starts_with(&[0x1f, 0x8b]) || same == text);
    }
}
