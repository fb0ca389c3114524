//! Characters that names and captions from untrusted files may not contain when they are shown.
//!
//! A control character can move the cursor of a terminal or rewrite its lines. A character that
//! embeds, overrides or isolates a direction of writing can reorder what stands beside it, so that a
//! name reads as another one or swallows the percentage after it. Letters of scripts that run from
//! right to left are not affected, nor the marks that they need (U+200E, U+200F, U+061C).

/// Returns whether a character changes how the text around it is shown.
fn is_deceptive(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Checks a text that will be shown.
///
/// # Errors
/// What was expected, the first character that is not allowed, and the text with all such
/// characters escaped.
pub fn check(text: &str) -> Result<(), String> {
    let Some(c) = text.chars().find(|c| is_deceptive(*c)) else {
        return Ok(());
    };
    Err(format!(
        "expected text without control characters and without changes of the direction of writing, \
         found U+{:04X} in `{}`; remove it",
        u32::from(c),
        escaped(text)
    ))
}

/// Returns a text with such characters replaced by their codes, as `\u202e`.
#[must_use]
pub fn escaped(text: &str) -> String {
    let shown = |c: char| match is_deceptive(c) {
        true => format!("\\u{:04x}", u32::from(c)),
        false => c.to_string(),
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_scripts_are_allowed() {
        for name in [
            "domestic cat",
            "café",
            "猫",
            "قط",
            "חתול",
            "a\u{200f}b",
            "नमस्ते",
            "👩\u{200d}🚀",
        ] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
    }

    #[test]
    fn an_override_and_a_terminal_escape_are_named_and_escaped() {
        let message = check("cat\u{202e}gpj").unwrap_err();
        assert!(
            message.contains("found U+202E in `cat\\u202egpj`"),
            "{message}"
        );
        let message = check("\u{1b}[2Kcat").unwrap_err();
        assert!(
            message.contains("found U+001B in `\\u001b[2Kcat`"),
            "{message}"
        );
        for c in [
            '\0', '\n', '\u{7f}', '\u{9b}', '\u{2066}', '\u{2069}', '\u{202a}',
        ] {
            assert!(is_deceptive(c), "{c:?}");
        }
    }
}
