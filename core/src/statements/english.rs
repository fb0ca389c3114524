//! How parts are said in English.

use super::number::Number;
use crate::words::{plural, with_article};

/// The name of a part: its singular, its plural, and the form for an unknown number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    singular: String,
    plural: Option<String>,
    any: Option<String>,
}

impl Name {
    /// Reads `singular`, `singular|plural` or `singular|plural|any`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut forms = text.split('|').map(|form| form.trim().to_owned());
        let singular = forms.next().filter(|form| !form.is_empty())?;
        Some(Self {
            singular,
            plural: forms.next().filter(|form| !form.is_empty()),
            any: forms.next().filter(|form| !form.is_empty()),
        })
    }

    /// Returns the name as it is, without an article.
    pub(super) fn as_is(&self) -> &str {
        &self.singular
    }

    /// Returns whether it has a form for an unknown number.
    pub(super) fn has_any(&self) -> bool {
        self.any.is_some()
    }

    /// Writes the forms as they are read.
    pub(super) fn write(&self) -> String {
        let [plural, any] = [&self.plural, &self.any].map(|form| form.as_deref().unwrap_or(""));
        let forms = format!("{}|{plural}|{any}", self.singular);
        forms.trim_end_matches('|').to_owned()
    }

    /// Returns one of it, with its article. A name that is its own plural is a mass and has none: "fruit".
    fn one(&self) -> String {
        match &self.plural {
            Some(plural) if *plural == self.singular => self.singular.clone(),
            _ => with_article(&self.singular),
        }
    }

    /// Returns the phrase for a number of it.
    pub(super) fn phrase(&self, number: Number) -> String {
        let many = self
            .plural
            .clone()
            .unwrap_or_else(|| plural(&self.singular));
        match number {
            Number::Any => self.any.clone().unwrap_or_else(|| self.one()),
            Number::One => self.one(),
            Number::Several => many,
            Number::Two => format!("two {many}"),
            Number::Group => format!("a group of {many}"),
            Number::Crowd => format!("a crowd of {many}"),
        }
    }
}

/// Returns words in lower case with their plurals, and where they are verbs with their forms.
pub(super) fn forms(words: &[String], are_verbs: bool) -> Vec<String> {
    let mut all = Vec::new();
    for word in words {
        let word = word.to_lowercase();
        all.push(plural(&word));
        if are_verbs {
            let (first, rest) = match word.split_once(' ') {
                Some((first, rest)) => (first, format!(" {rest}")),
                None => (word.as_str(), String::new()),
            };
            all.extend(verb_forms(first).map(|form| format!("{form}{rest}")));
        }
        all.push(word);
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns the third person and the -ing form of a verb.
fn verb_forms(verb: &str) -> [String; 2] {
    let is_vowel = |c: char| "aeiou".contains(c);
    let letters: Vec<char> = verb.chars().rev().take(3).collect();
    let stem = verb
        .strip_suffix('e')
        .filter(|stem| !stem.ends_with(['e', 'y', 'o']));
    let ing = match (stem, letters.as_slice()) {
        _ if verb == "lie" => "lying".to_owned(),
        (Some(stem), _) => format!("{stem}ing"),
        // run, sit, jog: one syllable that ends in a consonant after a single vowel.
        (None, [last, vowel, before])
            if verb.len() <= 4
                && !is_vowel(*last)
                && !"wxy".contains(*last)
                && is_vowel(*vowel)
                && !is_vowel(*before) =>
        {
            format!("{verb}{last}ing")
        }
        (None, _) => format!("{verb}ing"),
    };
    [plural(verb), ing]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_are_inflected() {
        for (verb, expected) in [
            ("run", ["runs", "running"]),
            ("ride", ["rides", "riding"]),
            ("carry", ["carries", "carrying"]),
            ("play", ["plays", "playing"]),
            ("lie", ["lies", "lying"]),
            ("catch", ["catches", "catching"]),
            ("eat", ["eats", "eating"]),
            ("canoe", ["canoes", "canoeing"]),
            ("ski", ["skis", "skiing"]),
            ("row", ["rows", "rowing"]),
            ("sleep", ["sleeps", "sleeping"]),
        ] {
            assert_eq!(verb_forms(verb), expected, "{verb}");
        }
    }

    #[test]
    fn nouns_are_said_in_every_number() {
        let name = Name::parse("person|people|one or more people");
        let phrases = Number::ALL.map(|number| name.as_ref().map(|name| name.phrase(number)));
        let expected = [
            "one or more people",
            "a person",
            "people",
            "two people",
            "a group of people",
            "a crowd of people",
        ];
        assert_eq!(phrases, expected.map(|phrase| Some(phrase.to_owned())));
        let phrase = |text, number| Name::parse(text).map(|name| name.phrase(number));
        assert_eq!(phrase("elephant", Number::Any), Some("an elephant".into()));
        assert_eq!(phrase("man", Number::Two), Some("two men".into()));
        assert_eq!(phrase("fruit|fruit", Number::One), Some("fruit".into()));
        assert_eq!(phrase("sheep", Number::One), Some("a sheep".into()));
        assert_eq!(phrase(" ", Number::One), None);
        for text in [
            "man",
            "fruit|fruit",
            "person||people",
            "person|people|people",
        ] {
            let name = Name::parse(text);
            assert_eq!(name.map(|name| name.write()).as_deref(), Some(text));
        }
    }
}
