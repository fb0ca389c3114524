//! Noun phrases of captions, such as "a black dog" in "a black dog is running after a ball".

/// Words that end a phrase: they join phrases, stand for nouns, or are verbs in any place.
const BREAKS: &str = "\
    about above across after against along alongside among amongst and are around as at atop away back be \
    because been before behind being below beneath beside besides between beyond but by can do does down during \
    each for from had has have he her him himself his if in inside into is it its itself just like near next nor \
    not of off on onto or other out outside over past she so something than that their them themselves then \
    there they this through to together toward towards under underneath until up upon very via was were what \
    when where which while who whom whose will with within without you another's someone it's he's she's there's \
    ahead";

/// Verbs that captions use without an auxiliary; after an article they are nouns.
const VERBS: &str = "\
    balance balances blow blows bite bites carries carry catch catches chase chases climb climbs dance dances \
    dig digs dive dives drink drinks drive drives eat eats enjoy enjoys fight fights fly flies get gets give \
    gives go goes hang hangs hit hits hold holds jump jumps kick kicks kiss kisses lay lays leap leaps lie lies \
    look looks make makes perform performs play plays pose poses pull pulls push pushes ride rides run runs sit \
    sits sleep sleeps smile smiles stand stands swim swims take takes walk walks watch watches";

/// Words that begin a phrase.
const DETERMINERS: &str =
    "a an the one two three four five six some several many another few both no all";

/// Nouns that look like participles.
const NOUNS: &str = "\
    bed building ceiling clothing crossing evening hundred king lightning morning painting railing ring seed \
    string swing wedding wing";

/// Returns the noun phrases of a caption, in its order and without repetitions; each is a part of it.
///
/// A rule of words, not a parser: a phrase runs from a determiner, or from the first word that can be part of a
/// phrase, to the next preposition, conjunction, pronoun, verb or mark.
pub fn noun_phrases(caption: &str) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    let mut open = Open::default();
    for (start, word) in words(caption) {
        let end = start + word.len();
        let lower = word.to_lowercase();
        match Role::of(&lower) {
            Role::Break => open.close(caption, &mut found),
            // "a running dog" and "a crowded street", but "a dog running" and "people dressed in red".
            Role::Verb | Role::Participle if open.has_noun || !open.has_determiner => {
                open.close(caption, &mut found);
            }
            Role::Determiner => {
                open.close(caption, &mut found);
                open = Open {
                    range: Some((start, end)),
                    has_determiner: true,
                    has_noun: false,
                };
            }
            role => {
                open.range = Some((open.range.map_or(start, |(first, _)| first), end));
                open.has_noun |= role != Role::Participle;
            }
        }
        // A comma or a full stop ends a phrase too.
        if caption[end..].starts_with([',', '.', ';', ':', '!', '?', '(', ')', '"']) {
            open.close(caption, &mut found);
        }
    }
    open.close(caption, &mut found);
    found
}

/// The phrase that is being read.
#[derive(Default)]
struct Open {
    /// Its first byte, and the end of its last word.
    range: Option<(usize, usize)>,
    has_determiner: bool,
    /// Whether it has a word that can be a noun.
    has_noun: bool,
}

impl Open {
    /// Ends the phrase; one without a noun is dropped.
    fn close<'a>(&mut self, caption: &'a str, found: &mut Vec<&'a str>) {
        let ended = std::mem::take(self);
        let Some((start, end)) = ended.range.filter(|_| ended.has_noun) else {
            return;
        };
        let phrase = &caption[start..end];
        if !found.iter().any(|known| known.eq_ignore_ascii_case(phrase)) {
            found.push(phrase);
        }
    }
}

/// What a word can be in a phrase.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Role {
    Break,
    Verb,
    Participle,
    Determiner,
    Other,
}

impl Role {
    fn of(word: &str) -> Self {
        let is_in = |list: &str, word: &str| list.split(' ').any(|known| known == word);
        if is_in(DETERMINERS, word) {
            Self::Determiner
        } else if is_in(BREAKS, word) {
            Self::Break
        } else if is_in(VERBS, word) {
            Self::Verb
        } else if is_in(NOUNS, word.strip_suffix('s').unwrap_or(word)) {
            Self::Other
        } else if word.len() > 4 && (word.ends_with("ing") || word.ends_with("ed")) {
            Self::Participle
        } else {
            Self::Other
        }
    }
}

/// Iterates over the words of a text with their first bytes. Hyphens and apostrophes are parts of words.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '\'' | '’');
    text.split(move |c| !is_part(c))
        .filter(|word| word.chars().any(char::is_alphanumeric))
        .map(move |word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_run_from_a_determiner_to_the_next_verb_or_preposition() {
        for (caption, expected) in [
            (
                "A black dog is running after a white dog in the snow .",
                &["A black dog", "a white dog", "the snow"][..],
            ),
            (
                "Black dog chasing brown dog through snow",
                &["Black dog", "brown dog", "snow"],
            ),
            (
                "A smiling boy jumps into a crowded pool.",
                &["A smiling boy", "a crowded pool"],
            ),
            (
                "Two men, dressed in red, ride bikes past the tall building.",
                &["Two men", "red", "bikes", "the tall building"],
            ),
            ("The dog and the DOG", &["The dog"]),
            ("a man's hat", &["a man's hat"]),
            ("A café – the é", &["A café", "the é"]),
            ("running", &[]),
            ("is on the", &[]),
            ("", &[]),
        ] {
            assert_eq!(noun_phrases(caption), expected, "{caption}");
        }
    }

    #[test]
    fn words_that_have_a_role_have_one_role() {
        let lists = [BREAKS, VERBS, DETERMINERS, NOUNS].map(|list| list.split(' '));
        let mut all: Vec<&str> = lists.into_iter().flatten().collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        assert!(all.iter().all(|word| !word.is_empty()));
    }
}
