//! BERT's word pieces: a word is cut, from left to right, into the longest pieces of the vocabulary.

use std::collections::HashMap;

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use super::normal_form::{Form, normalised};
use crate::error::{CoreError, Result};

/// Prefix of a piece that continues a word.
const CONTINUES: &str = "##";
/// Number of characters from which on a word is unknown as a whole.
const LONGEST_WORD: usize = 100;

/// Ids of pieces.
#[derive(Clone, Debug)]
pub(super) struct WordPieces {
    ids: HashMap<String, u32>,
    unknown: u32,
    pub(super) start: u32,
    pub(super) end: u32,
}

impl WordPieces {
    /// See [`super::Tokenizer::from_word_pieces`].
    pub(super) fn from_lines(text: &str) -> Result<Self> {
        let mut ids = HashMap::new();
        for (id, piece) in (0..).zip(text.lines()) {
            if ids.insert(piece.to_owned(), id).is_some() {
                return Err(CoreError::Vocabulary(format!(
                    "line {}: `{piece}` already exists",
                    id + 1
                )));
            }
        }
        let special = |piece: &str| {
            ids.get(piece).copied().ok_or_else(|| {
                CoreError::Vocabulary(format!("expected a line with {piece}, found none"))
            })
        };
        let padding = special("[PAD]")?;
        if padding != 0 {
            return Err(CoreError::Vocabulary(format!(
                "expected [PAD] in line 1, found it in line {}",
                padding + 1
            )));
        }
        Ok(Self {
            unknown: special("[UNK]")?,
            start: special("[CLS]")?,
            end: special("[SEP]")?,
            ids,
        })
    }

    pub(super) fn size(&self) -> usize {
        self.ids.len()
    }

    /// Returns the ids of a text's words, and possibly some more than `most`, without start and end.
    pub(super) fn encode(&self, text: &str, most: usize) -> Vec<u32> {
        let mut ids = Vec::new();
        for word in words(text) {
            if ids.len() >= most {
                break;
            }
            self.encode_word(&word, &mut ids);
        }
        ids
    }

    fn encode_word(&self, word: &str, ids: &mut Vec<u32>) {
        let before = ids.len();
        let ends: Vec<usize> = word
            .char_indices()
            .map(|(at, c)| at + c.len_utf8())
            .collect();
        let mut start = 0;
        while start < word.len() && ends.len() <= LONGEST_WORD {
            let mut longest = ends.iter().rev().take_while(|end| **end > start);
            let found = longest.find_map(|end| {
                let piece = &word[start..*end];
                let id = match start {
                    0 => self.ids.get(piece),
                    _ => self.ids.get(&format!("{CONTINUES}{piece}")),
                };
                Some((*id?, *end))
            });
            let Some((id, end)) = found else { break };
            ids.push(id);
            start = end;
        }
        if start < word.len() {
            ids.truncate(before);
            ids.push(self.unknown);
        }
    }
}

/// Returns the words of a text as BERT's uncased models read them: without accents, in small letters;
/// punctuation and Chinese characters are words of their own.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let text = normalised(text, Form::Decomposed);
    let is_mark = |c: &char| c.general_category_group() == GeneralCategoryGroup::Mark;
    let plain = text.chars().filter(|c| !is_mark(c));
    for c in plain.flat_map(char::to_lowercase) {
        if c.is_whitespace() {
            words.push(String::new());
        } else if c.is_control()
            || c == '\u{fffd}'
            || c.general_category_group() == GeneralCategoryGroup::Other
        {
            // Removed: the word goes on after it.
        } else if stands_alone(c) {
            words.extend([c.to_string(), String::new()]);
        } else if let Some(word) = words.last_mut() {
            word.push(c);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn stands_alone(c: char) -> bool {
    c.is_ascii_punctuation()
        || c.general_category_group() == GeneralCategoryGroup::Punctuation
        || matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2ceaf}' | '\u{2f800}'..='\u{2fa1f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIECES: &str = "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\ndog\n##gy\nplay\n##ing\n##s\n,\ncafe\n";

    fn ids(text: &str) -> Vec<u32> {
        WordPieces::from_lines(PIECES).unwrap().encode(text, 99)
    }

    #[test]
    fn words_are_cut_into_the_longest_pieces() {
        assert_eq!(ids("A doggy,  playing"), [4, 5, 6, 10, 7, 8]);
        assert_eq!(ids("CAF\u{c9}s cafe\u{301}"), [11, 9, 11]);
        assert_eq!(ids("a doggo \u{72d7}"), [4, 1, 1]);
        assert_eq!(ids(""), [0; 0]);
        assert_eq!(ids(&"a".repeat(101)), [1]);
    }

    #[test]
    fn control_characters_do_not_end_a_word() {
        assert_eq!(ids("d\u{0}o\u{200b}g\u{fffd}"), [5]);
        assert_eq!(ids("dog\u{a0}a\tdog"), [5, 4, 5]);
    }

    #[test]
    fn a_vocabulary_needs_its_special_pieces_once_each() {
        let message = |text: &str| WordPieces::from_lines(text).unwrap_err().to_string();
        assert!(message("[PAD]\n[UNK]\n[CLS]\n").contains("expected a line with [SEP]"));
        assert!(message("a\na\n").contains("line 2: `a` already exists"));
        assert!(message("a\n[PAD]\n").contains("expected [PAD] in line 1, found it in line 2"));
    }
}
