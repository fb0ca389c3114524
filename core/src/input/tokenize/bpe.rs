//! The merges, and their application to the bytes of a word.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::split::{END_MARKER, START_MARKER};
use crate::error::{CoreError, Result};

/// Number of byte symbols inside a word; as many more exist for the end of a word.
const BYTES: usize = 256;
const FIRST_MERGE: usize = 2 * BYTES;
/// Ids that are not merges: the byte symbols, start and end.
const RESERVED: usize = FIRST_MERGE + 2;
/// Suffix of a symbol at the end of a word, in the merges file.
const WORD_END: &str = "</w>";

/// Ids of symbols and the merges that produce them.
#[derive(Clone, Debug)]
pub(super) struct Vocabulary {
    byte_ids: [u32; BYTES],
    /// From two neighbouring symbols to their merge. Ids increase in the order of the merges, so
    /// the smaller id is the earlier merge.
    merges: HashMap<(u32, u32), u32>,
    /// The two symbols of each merge, in the order of their ids.
    pairs: Vec<(u32, u32)>,
    /// The largest id, that of the end token.
    pub(super) end: u32,
}

impl Vocabulary {
    /// See [`super::Tokenizer::from_merges`].
    pub(super) fn from_merges(text: &str, vocab_size: usize) -> Result<Self> {
        let fail = |reason: String| CoreError::Vocabulary(reason);
        let Some(merge_count) = vocab_size.checked_sub(RESERVED) else {
            return Err(fail(format!(
                "expected a size of at least {RESERVED} (bytes, start and end), found {vocab_size}"
            )));
        };
        let end = u32::try_from(vocab_size - 1)
            .map_err(|_| fail(format!("the size {vocab_size} does not fit 32 bits")))?;
        let alphabet = alphabet();
        let mut byte_ids = [0; BYTES];
        let mut symbols: HashMap<String, u32> = HashMap::with_capacity(FIRST_MERGE + merge_count);
        for (id, &(byte, letter)) in (0..).zip(&alphabet) {
            byte_ids[usize::from(byte)] = id;
            symbols.insert(letter.to_string(), id);
            symbols.insert(format!("{letter}{WORD_END}"), id + BYTES as u32);
        }
        let mut merges = HashMap::with_capacity(merge_count);
        let mut pairs = Vec::with_capacity(merge_count);
        let ids = FIRST_MERGE as u32..;
        for (next, (number, line)) in ids.zip(merge_lines(text).take(merge_count)) {
            let Some((left, right)) = pair(line) else {
                return Err(fail(format!(
                    "line {number}: expected two symbols separated by a blank, found `{line}`"
                )));
            };
            let id = |symbol: &str| {
                symbols.get(symbol).copied().ok_or_else(|| {
                    fail(format!(
                        "line {number}: no earlier merge produces `{symbol}`"
                    ))
                })
            };
            let both = (id(left)?, id(right)?);
            merges.insert(both, next);
            pairs.push(both);
            if symbols.insert(format!("{left}{right}"), next).is_some() {
                return Err(fail(format!(
                    "line {number}: `{left}{right}` already exists"
                )));
            }
        }
        if merges.len() < merge_count {
            return Err(fail(format!(
                "expected {merge_count} merges for a size of {vocab_size}, found {}",
                merges.len()
            )));
        }
        Ok(Self {
            byte_ids,
            merges,
            pairs,
            end,
        })
    }

    /// Appends the ids of one word.
    ///
    /// Always applies the earliest possible merge of the file, from left to right. Neighbours are
    /// kept in a priority queue in that order, so that even a word of a million letters is encoded
    /// quickly.
    pub(super) fn encode_word(&self, word: &str, ids: &mut Vec<u32>) {
        let mut chain: Vec<Link> = word
            .bytes()
            .enumerate()
            .map(|(i, byte)| Link {
                id: self.byte_ids[usize::from(byte)],
                before: i.checked_sub(1),
                after: Some(i + 1),
            })
            .collect();
        let Some(last) = chain.last_mut() else { return };
        last.id += BYTES as u32;
        last.after = None;

        let mut queue = BinaryHeap::new();
        for left in 0..chain.len() - 1 {
            self.push_candidate(&chain, left, left + 1, &mut queue);
        }
        while let Some(Reverse((merged, left))) = queue.pop() {
            let Some(right) = chain[left].after else {
                continue;
            };
            // The queued pair may no longer exist: one of the two was merged with another symbol
            // since.
            if self.merges.get(&(chain[left].id, chain[right].id)) != Some(&merged) {
                continue;
            }
            let after = chain[right].after;
            chain[left].id = merged;
            chain[left].after = after;
            chain[right].id = REMOVED;
            if let Some(after) = after {
                chain[after].before = Some(left);
                self.push_candidate(&chain, left, after, &mut queue);
            }
            if let Some(before) = chain[left].before {
                self.push_candidate(&chain, before, left, &mut queue);
            }
        }
        ids.extend(chain.iter().map(|link| link.id).filter(|&id| id != REMOVED));
    }

    /// Returns the words of ids with blanks between them, without start and end.
    pub(super) fn decode(&self, ids: &[u32]) -> String {
        let mut bytes = Vec::new();
        // The symbols that are still to be written, the next one last.
        let mut rest: Vec<u32> = ids.iter().rev().copied().collect();
        while let Some(id) = rest.pop() {
            let merge = (id as usize).checked_sub(FIRST_MERGE);
            if let Some((left, right)) = merge.and_then(|at| self.pairs.get(at)) {
                rest.extend([right, left]);
                continue;
            }
            let ends_word = id >= BYTES as u32;
            let symbol = if ends_word { id - BYTES as u32 } else { id };
            let byte = self.byte_ids.iter().position(|byte| *byte == symbol);
            bytes.extend(byte.map(|byte| byte as u8));
            if ends_word && byte.is_some() {
                bytes.push(b' ');
            }
        }
        String::from_utf8_lossy(&bytes).trim_end().to_owned()
    }

    fn push_candidate(
        &self,
        chain: &[Link],
        left: usize,
        right: usize,
        queue: &mut BinaryHeap<Reverse<(u32, usize)>>,
    ) {
        if let Some(&merged) = self.merges.get(&(chain[left].id, chain[right].id)) {
            queue.push(Reverse((merged, left)));
        }
    }
}

/// Marks a symbol that was merged into the one before it.
const REMOVED: u32 = u32::MAX;

/// A symbol of a word and its neighbours.
struct Link {
    id: u32,
    before: Option<usize>,
    after: Option<usize>,
}

/// Returns the part of a merges file that a vocabulary of `vocab_size` needs: the header line, if
/// there is one, and the first `vocab_size - 514` merges, or all if there are fewer.
pub fn merges_prefix(text: &str, vocab_size: usize) -> String {
    let header = text.lines().take(1).filter(|line| is_header(line));
    let merges = merge_lines(text).map(|(_, line)| line);
    let mut out = String::new();
    for line in header.chain(merges.take(vocab_size.saturating_sub(RESERVED))) {
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// Returns the symbols of a vocabulary of `vocab_size` in the order of their ids, as other programs
/// list them; the last two are the start and the end marker.
///
/// # Errors
/// [`CoreError::Vocabulary`] as [`super::Tokenizer::from_merges`].
pub fn symbols(text: &str, vocab_size: usize) -> Result<Vec<String>> {
    // This checks the file as a tokenizer does.
    Vocabulary::from_merges(text, vocab_size)?;
    let letters: Vec<String> = alphabet().iter().map(|(_, c)| c.to_string()).collect();
    let ends = letters.iter().map(|c| format!("{c}{WORD_END}"));
    let merged = merge_lines(text).take(vocab_size - RESERVED);
    let merged = merged.filter_map(|(_, line)| pair(line).map(|(l, r)| format!("{l}{r}")));
    let markers = [START_MARKER, END_MARKER].map(str::to_owned);
    let mut out = letters.clone();
    out.extend(ends.chain(merged).chain(markers));
    Ok(out)
}

/// Returns the lines with a merge, with their numbers in the file.
fn merge_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = (1..).zip(text.lines());
    lines.filter(|(number, line)| !(line.is_empty() || *number == 1 && is_header(line)))
}

fn is_header(line: &str) -> bool {
    line.contains("#version")
}

fn pair(line: &str) -> Option<(&str, &str)> {
    let (left, right) = line.split_once(' ')?;
    let is_pair = !left.is_empty() && !right.is_empty() && !right.contains(' ');
    is_pair.then_some((left, right))
}

/// Returns the bytes in the order of their ids, each with the character that represents it in the
/// file: first the printable bytes as themselves, then the others as U+0100 and up.
fn alphabet() -> Vec<(u8, char)> {
    let printable = |b: &u8| matches!(b, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    let shown = (0..=u8::MAX).filter(printable).map(|b| (b, char::from(b)));
    let hidden = (0..=u8::MAX).filter(|b| !printable(b)).zip('\u{100}'..);
    shown.chain(hidden).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MERGES: &str = "\"x\"#version: 0.2\na b\nab c\nb c</w>\nc a\nabc abc\na a\naa aa\n";

    fn word(vocabulary: &Vocabulary, word: &str) -> Vec<u32> {
        let mut ids = Vec::new();
        vocabulary.encode_word(word, &mut ids);
        ids
    }

    /// The definition: repeatedly apply the earliest merge to all its occurrences, from left to
    /// right.
    fn encode_naively(vocabulary: &Vocabulary, word: &str) -> Vec<u32> {
        let mut ids: Vec<u32> = word
            .bytes()
            .map(|b| vocabulary.byte_ids[usize::from(b)])
            .collect();
        *ids.last_mut().unwrap() += 256;
        loop {
            let merged = |w: &[u32]| vocabulary.merges.get(&(w[0], w[1])).copied();
            let Some(best) = ids.windows(2).filter_map(merged).min() else {
                return ids;
            };
            let mut i = 0;
            while i + 1 < ids.len() {
                if merged(&ids[i..i + 2]) == Some(best) {
                    ids[i] = best;
                    ids.remove(i + 1);
                }
                i += 1;
            }
        }
    }

    fn message(text: &str, vocab_size: usize) -> String {
        Vocabulary::from_merges(text, vocab_size)
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn the_alphabet_has_every_byte_once() {
        let alphabet = alphabet();
        let mut bytes: Vec<u8> = alphabet.iter().map(|(b, _)| *b).collect();
        assert_eq!(alphabet[0], (b'!', '!'));
        assert_eq!(alphabet[188], (0, '\u{100}'));
        assert_eq!(alphabet[255], (0xad, '\u{143}'));
        bytes.sort_unstable();
        assert_eq!(bytes, (0..=255).collect::<Vec<u8>>());
    }

    #[test]
    fn the_earliest_merge_comes_first() {
        let v = Vocabulary::from_merges(MERGES, 521).unwrap();
        let id = |byte: u8| v.byte_ids[usize::from(byte)];
        // "ab" before "b c</w>": the end symbol of c finds no partner.
        assert_eq!(word(&v, "abc"), [512, id(b'c') + 256]);
        assert_eq!(word(&v, "bc"), [514]);
        assert_eq!(word(&v, "abcabcx"), [516, id(b'x') + 256]);
        assert_eq!(word(&v, "x"), [id(b'x') + 256]);
        assert_eq!(word(&v, ""), [0; 0]);
    }

    #[test]
    fn a_smaller_vocabulary_knows_the_first_merges_only() {
        let v = Vocabulary::from_merges(MERGES, 515).unwrap();
        let id = |byte: u8| v.byte_ids[usize::from(byte)];
        assert_eq!(word(&v, "abcx"), [512, id(b'c'), id(b'x') + 256]);
        assert_eq!(v.end, 514);
        let none = Vocabulary::from_merges("", 514).unwrap();
        assert_eq!(word(&none, "a"), [64 + 256]);
    }

    #[test]
    fn the_header_line_may_be_missing_and_a_sign_may_be_merged() {
        let without = MERGES.lines().skip(1).collect::<Vec<_>>().join("\r\n");
        let v = Vocabulary::from_merges(&without, 521).unwrap();
        assert_eq!(word(&v, "abcabcx")[0], 516);
        let signs = Vocabulary::from_merges("# #\n## #</w>", 516).unwrap();
        assert_eq!(word(&signs, "###"), [513]);
    }

    #[test]
    fn an_invalid_merges_file_is_an_error_with_the_line() {
        assert_eq!(
            message(MERGES, 522),
            "vocabulary: expected 8 merges for a size of 522, found 7"
        );
        assert_eq!(
            message("a b\nab\n", 516),
            "vocabulary: line 2: expected two symbols separated by a blank, found `ab`"
        );
        assert!(message("a b c", 515).contains("found `a b c`"));
        assert_eq!(
            message("#version\nab c", 515),
            "vocabulary: line 2: no earlier merge produces `ab`"
        );
        assert_eq!(
            message("a b\nab c\nb c\na bc", 518),
            "vocabulary: line 4: `abc` already exists"
        );
        assert_eq!(
            message("a b", 513),
            "vocabulary: expected a size of at least 514 (bytes, start and end), found 513"
        );
        assert!(message("", usize::MAX).contains("does not fit 32 bits"));
    }

    #[test]
    fn a_prefix_of_the_merges_gives_the_same_vocabulary() {
        let prefix = merges_prefix(MERGES, 516);
        assert_eq!(prefix, "\"x\"#version: 0.2\na b\nab c\n");
        let (a, b) = (
            Vocabulary::from_merges(MERGES, 516),
            Vocabulary::from_merges(&prefix, 516),
        );
        assert_eq!(a.unwrap().merges, b.unwrap().merges);
        assert_eq!(merges_prefix(MERGES, 100_000), MERGES);
        assert_eq!(merges_prefix("a b\n\nb c\n", 516), "a b\nb c\n");
        assert_eq!(merges_prefix(MERGES, 3), "\"x\"#version: 0.2\n");
    }

    #[test]
    fn symbols_are_listed_by_id() {
        let listed = symbols(MERGES, 519).unwrap();
        assert_eq!(listed.len(), 519);
        assert_eq!((listed[64].as_str(), listed[320].as_str()), ("a", "a</w>"));
        assert_eq!(listed[512..514], ["ab", "abc"]);
        assert_eq!(listed[517..], ["<|startoftext|>", "<|endoftext|>"]);
        assert!(symbols(MERGES, 9999).is_err());
    }

    proptest! {
        #[test]
        fn the_queue_agrees_with_the_naive_algorithm(text in "[abc]{1,40}") {
            let v = Vocabulary::from_merges(MERGES, 521).unwrap();
            prop_assert_eq!(word(&v, &text), encode_naively(&v, &text));
        }
    }
}
