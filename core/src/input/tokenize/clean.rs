//! Cleaning of captions: from text as people write it to plain text for the tokenizer.

use super::normal_form::{Form, normalised};

/// Cleans a text (notation 3.4): HTML entities are decoded twice, curly quotes become straight,
/// ligatures and full-width forms become plain letters, control characters are removed, white space
/// is collapsed to single blanks and trimmed. The result is composed (NFC) and lower-cased.
///
/// The reference first applies the Python package `ftfy`. Its further steps are not done here:
/// repair of text decoded with the wrong encoding, terminal escapes, entities without their
/// semicolon.
///
/// ```
/// use espalier_core::input::clean;
///
/// assert_eq!(clean(" Tom &amp;amp; Jerry\u{2019}s\n caf\u{e9} "), "tom & jerry's caf\u{e9}");
/// ```
pub fn clean(text: &str) -> String {
    let once = html_escape::decode_html_entities(text);
    let twice = html_escape::decode_html_entities(&once);
    let mut plain = String::with_capacity(twice.len());
    for c in twice.chars() {
        push_plain(c, &mut plain);
    }
    let plain = normalised(&plain, Form::Composed);
    let words: Vec<&str> = plain.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

/// Appends the plain form of a character, which may be empty.
fn push_plain(c: char, out: &mut String) {
    match c {
        '\u{2bc}' | '\u{2018}'..='\u{201b}' => out.push('\''),
        '\u{201c}'..='\u{201f}' => out.push('"'),
        // A single character for apostrophe and n.
        '\u{149}' => out.push_str("'n"),
        '\0'..='\u{8}' | '\u{b}' | '\u{e}'..='\u{1f}' | '\u{7f}' => {}
        // Formatting controls without effect, byte order mark, interlinear annotation.
        '\u{206a}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffc}' => {}
        '\u{80}'..='\u{9f}' => out.extend(windows_1252(c)),
        // Ligatures, digraphs, full-width and half-width forms.
        '\u{132}'
        | '\u{133}'
        | '\u{1c4}'..='\u{1cc}'
        | '\u{1f1}'..='\u{1f3}'
        | '\u{fb00}'..='\u{fb06}'
        | '\u{ff01}'..='\u{ffef}' => {
            out.push_str(&normalised(c.encode_utf8(&mut [0; 4]), Form::Compatible));
        }
        _ => out.push(c),
    }
}

/// Returns the meaning of a control character of the second block if it is read as Windows' code
/// page 1252, which is what web pages mean by it. HTML decodes `&#146;` to an apostrophe for the
/// same reason.
fn windows_1252(c: char) -> Option<char> {
    /// Characters for U+0080 to U+009F; a blank where the code page has none.
    const CHARACTERS: [char; 32] = [
        '€', ' ', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', ' ', 'Ž', ' ', ' ', '\'',
        '\'', '"', '"', '•', '–', '—', '˜', '™', 'š', '›', 'œ', ' ', 'ž', 'Ÿ',
    ];
    let index = (c as usize).checked_sub(0x80)?;
    CHARACTERS
        .get(index)
        .copied()
        .filter(|&character| character != ' ')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn entities_are_resolved_twice() {
        assert_eq!(clean("I can&amp;#39;t"), "i can't");
        assert_eq!(clean("&lt;b&gt; &eacute;&nbsp;&#x41;"), "<b> é a");
        assert_eq!(
            clean("AT&T & co; &unknown; &#xZZ;"),
            "at&t & co; &unknown; &#xzz;"
        );
    }

    #[test]
    fn quotes_are_straight() {
        assert_eq!(clean("\u{201c}it\u{2019}s\u{201d}"), "\"it's\"");
        assert_eq!(clean("it&rsquo;s &#146;here&#146;"), "it's 'here'");
    }

    #[test]
    fn white_space_collapses_and_controls_vanish() {
        assert_eq!(
            clean("\u{feff} a\t\r\n b\u{a0}\u{3000}c\0d\u{7f}\u{1b} "),
            "a b cd"
        );
        assert_eq!(clean("\u{2028} \n"), "");
    }

    #[test]
    fn characters_are_composed_and_written_plainly() {
        assert_eq!(clean("cafe\u{301}"), "caf\u{e9}");
        assert_eq!(clean("o\u{fb03}ce ＦＵＬＬ ﾊﾟ"), "office full パ");
        assert_eq!(clean("ÀÉÎ ŒUVRE ΣΟΦΟΣ"), "àéî œuvre σοφος");
    }

    #[test]
    fn the_windows_code_page_is_read_where_controls_stand() {
        assert_eq!(clean("5\u{80} \u{93}x\u{94} \u{81}y"), "5€ \"x\" y");
    }

    proptest! {
        #[test]
        fn cleaning_leaves_no_white_space_but_single_blanks(text in any::<String>()) {
            let cleaned = clean(&text);
            prop_assert!(!cleaned.contains("  "));
            prop_assert_eq!(cleaned.trim(), cleaned.as_str());
            prop_assert!(cleaned.chars().all(|c| c == ' ' || !c.is_whitespace()));
        }
    }
}
