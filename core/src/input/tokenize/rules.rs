//! Whose rules cut a text into pieces: programs that share CLIP's vocabulary clean texts and read
//! literal markers in different ways.

use serde::{Deserialize, Serialize};

use super::clean::clean;
use super::normal_form::{Form, normalised};
use super::split::{END_MARKER, Piece, START_MARKER, pieces};

/// The program whose treatment of texts a model was trained with. The vocabulary is CLIP's in all
/// of them; plain texts get the same ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenizerRules {
    /// OpenAI's tokenizer, used by the MERU family too (notation 3.4): entities are decoded, quotes,
    /// ligatures and full-width letters become plain ones. Markers are `<|startoftext|>` and
    /// `<|endoftext|>`.
    #[default]
    Clip,
    /// open_clip's tokenizer: cleans as [`Clip`](Self::Clip); its markers are `<start_of_text>` and
    /// `<end_of_text>`.
    OpenClip,
    /// `transformers`' CLIP tokenizer: composes characters (NFC), collapses white space, lower-cases
    /// each character by itself, and changes nothing else. Markers are `<|startoftext|>` and
    /// `<|endoftext|>`, wherever they stand.
    Transformers,
}

impl TokenizerRules {
    /// Calls `take` with each piece of a text until it returns false.
    pub(super) fn for_each_piece(self, text: &str, mut take: impl FnMut(Piece<'_>) -> bool) {
        match self {
            Self::Clip => {
                let cleaned = clean(text);
                let _ = pieces(&cleaned, Some([START_MARKER, END_MARKER])).all(take);
            }
            Self::OpenClip => {
                let cleaned = clean(text);
                let _ = pieces(&cleaned, Some(["<start_of_text>", "<end_of_text>"])).all(take);
            }
            Self::Transformers => {
                for part in literal_parts(&normalise(text)) {
                    let goes_on = match part {
                        Piece::Text(words) => pieces(words, None).all(&mut take),
                        marker => take(marker),
                    };
                    if !goes_on {
                        return;
                    }
                }
            }
        }
    }
}

/// Splits a text at its literal markers, which are pieces of their own.
fn literal_parts(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let markers = [(START_MARKER, Piece::Start), (END_MARKER, Piece::End)];
        let found = markers
            .into_iter()
            .filter_map(|(marker, piece)| Some((rest.find(marker)?, marker, piece)))
            .min_by_key(|(at, _, _)| *at);
        match found {
            Some((0, marker, piece)) => {
                rest = &rest[marker.len()..];
                Some(piece)
            }
            Some((at, _, _)) => {
                let (words, after) = rest.split_at(at);
                rest = after;
                Some(Piece::Text(words))
            }
            None if rest.is_empty() => None,
            None => Some(Piece::Text(std::mem::take(&mut rest))),
        }
    })
}

/// Returns a text as `transformers` normalises it. Lower-casing looks at single characters, so that
/// a final sigma becomes the same as any other.
fn normalise(text: &str) -> String {
    let composed = normalised(text, Form::Composed);
    composed.chars().flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the pieces, in which there are no blanks, with blanks between them.
    fn split(rules: TokenizerRules, text: &str) -> String {
        let mut out = Vec::new();
        rules.for_each_piece(text, |piece| {
            out.push(match piece {
                Piece::Start => "START".to_owned(),
                Piece::End => "END".to_owned(),
                Piece::Text(text) => text.to_owned(),
            });
            true
        });
        out.join(" ")
    }

    #[test]
    fn only_the_first_two_rules_decode_entities_and_ligatures() {
        let text = "A&amp;B o\u{fb03}ce it\u{2019}s ＦＵＬＬ";
        for rules in [TokenizerRules::Clip, TokenizerRules::OpenClip] {
            assert_eq!(split(rules, text), "a & b office it 's full", "{rules:?}");
        }
        assert_eq!(
            split(TokenizerRules::Transformers, text),
            "a & amp ; b o\u{fb03}ce it \u{2019} s ｆｕｌｌ"
        );
    }

    #[test]
    fn every_program_has_its_own_markers() {
        let text = "a!<|endoftext|>b <end_of_text>";
        assert_eq!(
            split(TokenizerRules::Clip, text),
            "a !<| endoftext |> b < end _ of _ text >"
        );
        assert_eq!(
            split(TokenizerRules::OpenClip, text),
            "a !<| endoftext |> b END"
        );
        // Here a marker counts inside a run of signs too.
        assert_eq!(
            split(TokenizerRules::Transformers, text),
            "a ! END b < end _ of _ text >"
        );
    }

    #[test]
    fn transformers_finds_markers_after_lower_casing() {
        assert_eq!(
            split(
                TokenizerRules::Transformers,
                "<|ENDOFTEXT|>x<|StartOfText|>"
            ),
            "END x START"
        );
    }

    #[test]
    fn transformers_reads_characters_one_by_one() {
        assert_eq!(split(TokenizerRules::Transformers, "ΣΟΦΟΣ"), "σοφοσ");
        assert_eq!(split(TokenizerRules::Clip, "ΣΟΦΟΣ"), "σοφος");
        assert_eq!(
            split(TokenizerRules::Transformers, "Cafe\u{301}\u{3000}\n x"),
            "caf\u{e9} x"
        );
    }

    #[test]
    fn pieces_end_where_the_caller_stops() {
        for rules in [
            TokenizerRules::Clip,
            TokenizerRules::OpenClip,
            TokenizerRules::Transformers,
        ] {
            let mut count = 0;
            rules.for_each_piece("a b <|endoftext|> c d", |_| {
                count += 1;
                count < 2
            });
            assert_eq!(count, 2, "{rules:?}");
        }
    }
}
