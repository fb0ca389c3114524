//! Splitting of a cleaned text into the pieces that are encoded separately.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// One piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// The literal start marker.
    Start,
    /// The literal end marker.
    End,
    /// A word, a digit, a contraction or a run of other signs; never empty.
    Text(&'a str),
}

/// Literal marker of the start of a text.
pub(super) const START_MARKER: &str = "<|startoftext|>";
/// Literal marker of the end of a text.
pub(super) const END_MARKER: &str = "<|endoftext|>";
const CONTRACTIONS: [&str; 7] = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d"];

/// Splits a cleaned text (notation 3.4). At every position it takes the first that matches: a
/// marker, a contraction, a run of letters, one number character, a run of anything else except
/// white space.
///
/// A marker or contraction inside a run of other signs is part of the run, as in the reference.
/// `markers` are the literal start and end; `None` if a text has none.
pub(super) fn pieces<'a>(
    text: &'a str,
    markers: Option<[&'static str; 2]>,
) -> impl Iterator<Item = Piece<'a>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let class = Class::of(rest.chars().next()?);
        let named = markers.map(|[start, end]| [(start, Piece::Start), (end, Piece::End)]);
        for (marker, piece) in named.into_iter().flatten() {
            if let Some(after) = rest.strip_prefix(marker) {
                rest = after;
                return Some(piece);
            }
        }
        let contraction = CONTRACTIONS.iter().find(|c| rest.starts_with(*c));
        let length = match (contraction, class) {
            (Some(contraction), _) => contraction.len(),
            (None, Class::Number) => rest.chars().next().map_or(0, char::len_utf8),
            (None, class) => rest.find(|c| Class::of(c) != class).unwrap_or(rest.len()),
        };
        let (piece, after) = rest.split_at(length);
        rest = after;
        Some(Piece::Text(piece))
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Blank,
    Letter,
    Number,
    Sign,
}

impl Class {
    /// Classifies by Unicode's general category. The `char` methods of the standard library test
    /// other properties: vowel signs are alphabetic there, but signs here.
    fn of(c: char) -> Self {
        if c.is_whitespace() {
            return Self::Blank;
        }
        match c.general_category_group() {
            GeneralCategoryGroup::Letter => Self::Letter,
            GeneralCategoryGroup::Number => Self::Number,
            _ => Self::Sign,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<&str> {
        pieces(text, Some([START_MARKER, END_MARKER]))
            .map(|p| match p {
                Piece::Start => "START",
                Piece::End => "END",
                Piece::Text(t) => t,
            })
            .collect()
    }

    #[test]
    fn words_digits_and_signs_part() {
        assert_eq!(
            split("a photo, of 12 cats!?"),
            ["a", "photo", ",", "of", "1", "2", "cats", "!?"]
        );
        assert_eq!(split("  "), [""; 0]);
        assert_eq!(split("abc\u{a0}def"), ["abc", "def"]);
    }

    #[test]
    fn contractions_part_from_their_word() {
        assert_eq!(
            split("it's i'll don't we've"),
            ["it", "'s", "i", "'ll", "don", "'t", "we", "'ve"]
        );
        assert_eq!(split("rock'n'roll"), ["rock", "'", "n", "'", "roll"]);
        // Inside a run of signs the quote belongs to the run.
        assert_eq!(split("!'s"), ["!'", "s"]);
    }

    #[test]
    fn markers_count_at_the_start_of_a_piece_only() {
        assert_eq!(
            split("a<|endoftext|>b <|startoftext|>"),
            ["a", "END", "b", "START"]
        );
        assert_eq!(split("!<|endoftext|>"), ["!<|", "endoftext", "|>"]);
    }

    #[test]
    fn letters_are_those_of_unicode() {
        assert_eq!(split("你好 😀"), ["你好", "😀"]);
        // Vowel signs are marks, not letters; a Roman numeral is a number.
        assert_eq!(split("नमस्ते"), ["नमस", "्", "त", "े"]);
        assert_eq!(split("ⅳⅳ½x²"), ["ⅳ", "ⅳ", "½", "x", "²"]);
    }
}
