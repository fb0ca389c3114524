//! The embedded font: text widths, line breaks and available characters.
//!
//! A subset of Arimo, whose widths are those of Arial and Helvetica. An SVG therefore looks the
//! same wherever one of them or a copy is installed. It does not embed the font, and its text stays
//! text.

use std::collections::HashMap;
use std::sync::LazyLock;

use resvg::usvg::fontdb;
use skrifa::instance::{LocationRef, Size};
use skrifa::{FontRef, MetadataProvider};

/// Family name in the embedded files.
pub const FAMILY: &str = "Espalier Sans";

const REGULAR: &[u8] = include_bytes!("../../fonts/EspalierSans-Regular.ttf");
const BOLD: &[u8] = include_bytes!("../../fonts/EspalierSans-Bold.ttf");

/// Weight of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// 400.
    Regular,
    /// 700.
    Bold,
}

/// Widths of the characters of a font in units of the size.
type Widths = HashMap<char, f64>;

fn read_widths(font: &[u8]) -> Widths {
    let Ok(font) = FontRef::new(font) else {
        return Widths::new();
    };
    let metrics = font.glyph_metrics(Size::new(1.0), LocationRef::default());
    let width = |(code, glyph)| {
        let width = metrics.advance_width(glyph)?;
        Some((char::from_u32(code)?, f64::from(width)))
    };
    font.charmap().mappings().filter_map(width).collect()
}

static WIDTHS: LazyLock<[Widths; 2]> = LazyLock::new(|| [REGULAR, BOLD].map(read_widths));

fn widths(weight: Weight) -> &'static Widths {
    &WIDTHS[usize::from(weight == Weight::Bold)]
}

/// Returns the width of a text at a size, in the unit of the size.
pub fn width(text: &str, size: f64, weight: Weight) -> f64 {
    let widths = widths(weight);
    // Characters of other fonts are often wide.
    let of = |c: char| widths.get(&c).copied().unwrap_or(1.0);
    size * text.chars().map(of).sum::<f64>()
}

/// Returns whether the embedded font draws every character of a text.
pub fn covers(text: &str) -> bool {
    let known = widths(Weight::Regular);
    text.chars()
        .all(|c| known.contains_key(&c) || c.is_control())
}

/// Returns the text, truncated with an ellipsis if it does not fit.
pub fn fit(text: &str, size: f64, weight: Weight, room: f64) -> String {
    if width(text, size, weight) <= room {
        return text.to_owned();
    }
    let mut out = String::new();
    for c in text.chars() {
        out.push(c);
        if width(&format!("{out}…"), size, weight) > room {
            out.pop();
            break;
        }
    }
    format!("{}…", out.trim_end())
}

/// Breaks a text into at most `most` lines of width `room`; the last one is truncated if the text
/// is longer.
pub fn wrap(text: &str, size: f64, weight: Weight, room: f64, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.pop() {
            None => lines.push(word.to_owned()),
            Some(line) => {
                let longer = format!("{line} {word}");
                // The rest stays on the last line, which is truncated.
                if width(&longer, size, weight) <= room || lines.len() + 1 >= most {
                    lines.push(longer);
                } else {
                    lines.extend([line, word.to_owned()]);
                }
            }
        }
    }
    let cut = |line: &String| fit(line, size, weight, room);
    lines.iter().map(cut).collect()
}

/// Returns the fonts for rendering texts: the embedded ones, and the system's fonts only if a text
/// needs them.
pub fn database(text: &str) -> fontdb::Database {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(REGULAR.to_vec());
    fonts.load_font_data(BOLD.to_vec());
    if !covers(text) {
        fonts.load_system_fonts();
    }
    // Last, because loading the system's fonts sets its own default families.
    fonts.set_sans_serif_family(FAMILY);
    fonts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_of_arial() {
        // Arial's advance widths of 2048 units to the em: a 1139, i 455, W 1933, space 569.
        let known = |c: &str, units: f64| {
            let found = width(c, 2048.0, Weight::Regular);
            assert!((found - units).abs() < 1.0, "{c}: {found}");
        };
        known("a", 1139.0);
        known("i", 455.0);
        known("W", 1933.0);
        known("a i", 1139.0 + 569.0 + 455.0);
        assert!(width("a cat", 10.0, Weight::Bold) > width("a cat", 10.0, Weight::Regular));
    }

    #[test]
    fn long_texts_end_with_an_ellipsis() {
        assert_eq!(fit("a cat", 10.0, Weight::Regular, 100.0), "a cat");
        let cut = fit("a cat on a mat", 10.0, Weight::Regular, 40.0);
        assert!(
            cut.ends_with('…') && width(&cut, 10.0, Weight::Regular) <= 40.0,
            "{cut}"
        );
    }

    #[test]
    fn lines_break_at_blanks_and_too_many_end_with_an_ellipsis() {
        let lines = wrap("a cat on a mat", 10.0, Weight::Regular, 36.0, 9);
        assert_eq!(lines, ["a cat on", "a mat"]);
        let lines = wrap("a cat on a mat in a house", 10.0, Weight::Regular, 36.0, 2);
        assert_eq!(lines.len(), 2);
        assert!(lines[1].ends_with('…'), "{lines:?}");
    }

    #[test]
    fn the_font_covers_latin_and_greek() {
        assert!(covers("café — Ångström, β ≤ π … “x” → y √2 −1 › €"));
        assert!(!covers("日本"));
    }
}
