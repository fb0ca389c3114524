//! Text to token ids: the byte-pair encoding of CLIP (notation 3.4), with its full vocabulary or a
//! smaller one from the first of the same merges.
//!
//! 1. [`TokenizerRules`]: whose rules apply. Those of CLIP and open_clip begin with [`clean()`], which
//!    decodes entities, normalises quotes, control characters, white space and case.
//! 2. `split`: splits into words, single digits and runs of other signs.
//! 3. `bpe`: merges the bytes of a piece pair by pair, in the order of the merges file.
//!
//! Encoders of sentences of BERT's family have a vocabulary of word pieces instead (`word_pieces`).
//!
//! Ids of CLIP: 256 byte symbols, the same 256 at the end of a word, one for each merge, and last the start
//! and the end of a text. The end id is the largest; CLIP's text encoder finds the end by it.

mod bpe;
mod clean;
mod normal_form;
mod rules;
mod split;
#[cfg(feature = "burn")]
mod word_pieces;

pub use bpe::{merges_prefix, symbols};
pub use clean::clean;
pub use rules::TokenizerRules;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use split::Piece;
#[cfg(feature = "burn")]
use word_pieces::WordPieces;

/// Minimum number of ids of a text: start and end.
const MIN_CONTEXT: usize = 2;

/// Returns the position of the end token of a text; 0 for a text without tokens.
///
/// It is the first position of the largest id: the end token has the largest id of the vocabulary,
/// and padding may repeat it (notation 3.2, trap 28).
#[must_use]
pub fn end_position(ids: &[u32]) -> usize {
    let largest = ids.iter().max();
    ids.iter()
        .position(|id| Some(id) == largest)
        .unwrap_or_default()
}

/// Returns the ids of a text without its padding: 0, which no text ends with.
pub(crate) fn unpadded(ids: &[u32]) -> &[u32] {
    let last = ids.iter().rposition(|id| *id != 0);
    &ids[..last.map_or(0, |last| last + 1)]
}

/// CLIP's tokenizer, or BERT's.
///
/// ```
/// use espalier_core::input::Tokenizer;
///
/// // Two merges, so 256 + 256 + 2 + 2 ids.
/// let tokenizer = Tokenizer::from_merges("c a\nca t</w>", 516)?;
/// let ids = tokenizer.encode("  Cat ", 77);
/// assert_eq!(ids, [514, 513, 515]);
/// # Ok::<(), espalier_core::CoreError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tokenizer {
    vocabulary: Vocabulary,
}

#[derive(Clone, Debug)]
enum Vocabulary {
    Merges(Box<bpe::Vocabulary>, TokenizerRules),
    /// Only Burn computes encoders with such a vocabulary; the page's CPU engine needs none.
    #[cfg(feature = "burn")]
    Pieces(WordPieces),
}

impl Tokenizer {
    /// Builds a tokenizer with the rules of CLIP from a merges file: one merge per line, two symbols separated by a blank,
    /// earliest merges first. A first line with `#version` is skipped.
    ///
    /// `vocab_size` 49408 is CLIP's own and uses 48894 merges. A smaller one uses the first
    /// `vocab_size - 514`; this gives the same encoding as if the training of the merges had
    /// stopped there.
    ///
    /// # Errors
    /// [`crate::CoreError::Vocabulary`] with the line: fewer merges than the size needs, a line
    /// that is not a pair, a symbol that no earlier line produces, or one that already exists.
    pub fn from_merges(text: &str, vocab_size: usize) -> Result<Self> {
        let merges = bpe::Vocabulary::from_merges(text, vocab_size)?;
        Ok(Self {
            vocabulary: Vocabulary::Merges(Box::new(merges), TokenizerRules::default()),
        })
    }

    /// Builds a tokenizer with the rules of BERT's uncased models from their list of word pieces, one
    /// per line in the order of their ids. `[PAD]` is the first; `[UNK]`, `[CLS]` and `[SEP]` stand for
    /// an unknown word, the start and the end of a text.
    ///
    /// # Errors
    /// [`crate::CoreError::Vocabulary`]: a piece that occurs twice, or a special one that is missing.
    #[cfg(feature = "burn")]
    pub fn from_word_pieces(text: &str) -> Result<Self> {
        Ok(Self {
            vocabulary: Vocabulary::Pieces(WordPieces::from_lines(text)?),
        })
    }

    /// Returns these merges with the rules of another program; word pieces have rules of their own.
    #[must_use]
    pub fn with_rules(self, rules: TokenizerRules) -> Self {
        let vocabulary = match self.vocabulary {
            Vocabulary::Merges(merges, _) => Vocabulary::Merges(merges, rules),
            #[cfg(feature = "burn")]
            pieces @ Vocabulary::Pieces(_) => pieces,
        };
        Self { vocabulary }
    }

    /// Returns the number of ids; every id is smaller.
    pub fn vocab_size(&self) -> usize {
        match &self.vocabulary {
            Vocabulary::Merges(merges, _) => merges.end as usize + 1,
            #[cfg(feature = "burn")]
            Vocabulary::Pieces(pieces) => pieces.size(),
        }
    }

    /// Returns the id of the start of a text; with merges it is `vocab_size - 2`.
    pub fn start_token(&self) -> u32 {
        match &self.vocabulary {
            Vocabulary::Merges(merges, _) => merges.end - 1,
            #[cfg(feature = "burn")]
            Vocabulary::Pieces(pieces) => pieces.start,
        }
    }

    /// Returns the id of the end of a text; with merges it is `vocab_size - 1`, the largest of all.
    pub fn end_token(&self) -> u32 {
        match &self.vocabulary {
            Vocabulary::Merges(merges, _) => merges.end,
            #[cfg(feature = "burn")]
            Vocabulary::Pieces(pieces) => pieces.end,
        }
    }

    /// Returns the ids of a text: start, the cleaned text, end. There are at most `context` of
    /// them, and the last is always the end id. A `context` below 2 counts as 2.
    ///
    /// As in the reference, the literal end marker in a text becomes the end id of CLIP too (see
    /// [`TokenizerRules`]); the feature of a text is read at the first end id.
    pub fn encode(&self, text: &str, context: usize) -> Vec<u32> {
        let room = context.max(MIN_CONTEXT) - 1;
        let mut ids = vec![self.start_token()];
        match &self.vocabulary {
            Vocabulary::Merges(merges, rules) => rules.for_each_piece(text, |piece| {
                if ids.len() >= room {
                    return false;
                }
                match piece {
                    Piece::Start => ids.push(merges.end - 1),
                    Piece::End => ids.push(merges.end),
                    Piece::Text(word) => merges.encode_word(word, &mut ids),
                }
                true
            }),
            #[cfg(feature = "burn")]
            Vocabulary::Pieces(pieces) => ids.extend(pieces.encode(text, room)),
        }
        ids.truncate(room);
        ids.push(self.end_token());
        ids
    }

    /// Returns the text of ids of merges, as its words with blanks between them; of word pieces, and
    /// for ids without text, nothing. Encoding it again gives the same ids, except that digits of a
    /// number stand apart.
    #[must_use]
    pub fn decode(&self, ids: &[u32]) -> String {
        match &self.vocabulary {
            Vocabulary::Merges(merges, _) => merges.decode(ids),
            #[cfg(feature = "burn")]
            Vocabulary::Pieces(_) => String::new(),
        }
    }

    /// Encodes texts and pads them on the right with id 0 to the longest of the batch. Id 0 is a
    /// real token of CLIP, but no mask is needed: its causal encoder reads nothing after the end id.
    /// With word pieces, id 0 is the padding.
    pub fn encode_batch(&self, texts: &[impl AsRef<str>], context: usize) -> TokenBatch {
        let rows: Vec<Vec<u32>> = texts
            .iter()
            .map(|t| self.encode(t.as_ref(), context))
            .collect();
        TokenBatch::padded(rows.iter().map(Vec::as_slice))
    }
}

/// Token ids of several texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenBatch {
    /// `[rows, len]`, row-major.
    pub ids: Vec<u32>,
    /// Number of texts.
    pub rows: usize,
    /// Number of ids of the longest text; the others are padded to it.
    pub len: usize,
}

impl TokenBatch {
    /// Pads rows with id 0 to the longest.
    #[must_use]
    pub fn padded<'a>(rows: impl Iterator<Item = &'a [u32]> + Clone) -> Self {
        let len = rows.clone().map(<[u32]>::len).max().unwrap_or(0);
        let (mut ids, mut count) = (Vec::new(), 0);
        for row in rows {
            ids.extend_from_slice(row);
            count += 1;
            ids.resize(count * len, 0);
        }
        Self {
            ids,
            rows: count,
            len,
        }
    }

    /// Returns the texts of some rows, padded to the longest of them.
    ///
    /// # Panics
    /// If a row does not exist.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        let text = |row: &usize| unpadded(&self.ids[row * self.len..(row + 1) * self.len]);
        Self::padded(rows.iter().map(text))
    }

    /// Returns these texts followed by `others`, padded to the same length.
    #[must_use]
    pub fn followed_by(&self, others: &Self) -> Self {
        let rows = |batch: &Self| batch.len.max(1);
        let first = self.ids.chunks(rows(self));
        Self::padded(first.chain(others.ids.chunks(rows(others))))
    }

    /// Returns each text once, in the order of its first row, and for each row the position of its text there.
    #[must_use]
    pub fn distinct(&self) -> (Self, Vec<usize>) {
        let mut texts: Vec<&[u32]> = Vec::new();
        let mut of_text: BTreeMap<&[u32], usize> = BTreeMap::new();
        let rows = self.ids.chunks(self.len.max(1));
        let places = rows.map(|row| {
            *of_text.entry(row).or_insert_with(|| {
                texts.push(row);
                texts.len() - 1
            })
        });
        let places = places.collect();
        (Self::padded(texts.into_iter()), places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tiny() -> Tokenizer {
        Tokenizer::from_merges("c a\nca t</w>\nd o\ndo g</w>", 518).unwrap()
    }

    #[test]
    fn tokens_are_start_words_end() {
        let t = tiny();
        assert_eq!(
            (t.vocab_size(), t.start_token(), t.end_token()),
            (518, 516, 517)
        );
        assert_eq!(t.encode("a cat", 77), [516, 64 + 256, 513, 517]);
        assert_eq!(t.encode("", 77), [516, 517]);
    }

    #[test]
    fn distinct_texts_come_once_and_every_row_finds_its_text() {
        let rows: [&[u32]; 5] = [&[1, 2], &[3], &[1, 2], &[4, 5, 6], &[3]];
        let batch = TokenBatch::padded(rows.into_iter());
        let (distinct, places) = batch.distinct();
        assert_eq!((distinct.rows, distinct.len), (3, 3));
        assert_eq!(places, [0, 1, 0, 2, 1]);
        assert_eq!(distinct.select(&places), batch);
    }

    #[test]
    fn decoded_texts_have_the_same_ids() {
        let t = tiny();
        for text in ["a cat, dogs!", "", "caf\u{e9} \u{1f600}", "cat's"] {
            let ids = t.encode(text, 77);
            assert_eq!(t.encode(&t.decode(&ids), 77), ids, "{text}");
        }
        assert_eq!(t.decode(&t.encode(" A  cat,dog", 77)), "a cat , dog");
    }

    #[cfg(feature = "burn")]
    #[test]
    fn word_pieces_have_their_own_start_and_end() {
        let t = Tokenizer::from_word_pieces("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\ncat\n").unwrap();
        let t = t.with_rules(TokenizerRules::OpenClip);
        assert_eq!((t.vocab_size(), t.start_token(), t.end_token()), (6, 2, 3));
        assert_eq!(t.encode("A cat a cat", 5), [2, 4, 5, 4, 3]);
        assert_eq!(
            t.encode_batch(&["a", "a cat"], 9).ids,
            [2, 4, 3, 0, 2, 4, 5, 3]
        );
    }

    #[test]
    fn truncation_keeps_the_end() {
        let t = tiny();
        assert_eq!(t.encode("dog dog dog dog", 4), [516, 515, 515, 517]);
        assert_eq!(t.encode("dog dog", 4), [516, 515, 515, 517]);
        for context in [0, 1, 2] {
            assert_eq!(t.encode("dog dog", context), [516, 517]);
        }
    }

    #[test]
    fn joined_batches_have_the_same_padding() {
        let t = tiny();
        let (short, long) = (["cat", ""], ["dog cat dog"]);
        let all = t.encode_batch(&["cat", "", "dog cat dog"], 77);
        let joined = |a: &[&str], b: &[&str]| {
            let (a, b) = (t.encode_batch(a, 77), t.encode_batch(b, 77));
            a.followed_by(&b)
        };
        assert_eq!(joined(&short, &long), all);
        assert_eq!(joined(&[], &["cat", "", "dog cat dog"]), all);
    }

    #[test]
    fn selected_texts_have_the_padding_of_a_batch_of_their_own() {
        let tokenizer = tiny();
        let batch = tokenizer.encode_batch(&["red red red", "red", "re re"], 16);
        let expected = tokenizer.encode_batch(&["re re", "red"], 16);
        assert_eq!(batch.select(&[2, 1]), expected);
        assert_eq!(batch.select(&[]), TokenBatch::default());
    }

    #[test]
    fn a_batch_is_padded_to_its_longest() {
        let batch = tiny().encode_batch(&["dog", "cat dog cat", ""], 77);
        assert_eq!((batch.rows, batch.len), (3, 5));
        assert_eq!(batch.ids[..5], [516, 515, 517, 0, 0]);
        assert_eq!(batch.ids[5..10], [516, 513, 515, 513, 517]);
        assert_eq!(batch.ids[10..], [516, 517, 0, 0, 0]);
        assert_eq!(tiny().encode_batch(&[""; 0], 77), TokenBatch::default());
    }

    #[test]
    fn the_literal_markers_become_their_ids() {
        let t = tiny();
        let ids = t.encode("cat <|endoftext|> dog <|STARTOFTEXT|>", 77);
        assert_eq!(ids, [516, 513, 517, 515, 516, 517]);
    }

    #[test]
    fn a_very_long_word_is_encoded_in_time() {
        let word = "dog".repeat(200_000);
        let ids = tiny().encode(&word, usize::MAX);
        // 'do' 514 and 'g' for every 'dog' but the last, which is one token; plus start and end.
        assert_eq!(ids.len(), 2 * 199_999 + 1 + 2);
        assert_eq!(ids[1..3], [514, 70]);
        assert_eq!(ids[ids.len() - 2..], [515, 517]);
    }
}
