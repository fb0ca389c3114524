//! Common phrasings of a name: bare, plural, with an article, a possessive or an adjective.

use espalier_core::caption::prompts::{PATTERNS, prompt};
use espalier_core::words::{plural, with_article};
use espalier_data::records::random::Random;

/// Adjectives that do not change what a name refers to.
#[rustfmt::skip]
const ADJECTIVES: [&str; 24] = [
    "big", "small", "old", "new", "little", "tiny", "red", "white", "black", "blue", "green",
    "brown", "yellow", "beautiful", "young", "large", "pretty", "cute", "dirty", "fresh", "wooden",
    "broken", "colourful", "funny",
];
/// Possessives and other determiners.
const DETERMINERS: [&str; 7] = ["my", "your", "his", "our", "the", "this", "grandma's"];
/// Quantities for plurals.
const QUANTITIES: [&str; 5] = ["two", "some", "many", "three", "a few"];

/// Returns a name in a common phrasing; half of the time the bare name.
pub(super) fn phrase(name: &str, random: &mut Random) -> String {
    let mut of = |words: &[&'static str]| words[random.below(words.len() as u32) as usize];
    let adjective = of(&ADJECTIVES);
    let (determiner, quantity) = (of(&DETERMINERS), of(&QUANTITIES));
    match random.below(14) {
        0 => with_article(name),
        1 => plural(name),
        2 => format!("{determiner} {name}"),
        3 => format!("{quantity} {}", plural(name)),
        4 => with_article(&format!("{adjective} {name}")),
        5 => format!("{adjective} {}", plural(name)),
        6 => {
            let pattern = PATTERNS[random.below(PATTERNS.len() as u32) as usize];
            prompt(pattern, name)
        }
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use espalier_data::records::random::Purpose;

    use super::*;

    #[test]
    fn a_phrase_contains_the_name_or_its_plural() {
        let random = &mut Random::new(0, Purpose::Nouns, 0, 0);
        let mut found = std::collections::BTreeSet::new();
        for _ in 0..500 {
            let text = phrase("fox", random);
            assert!(text.contains("fox"), "{text}");
            found.insert(text);
        }
        for bare in ["fox", "foxes", "a fox", "my fox", "two foxes"] {
            assert!(found.contains(bare), "{bare}");
        }
        assert!(found.contains("a photo of a fox"));
    }
}
