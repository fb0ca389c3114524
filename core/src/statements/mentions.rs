//! Parts and statements that a caption mentions.

use super::number::Number;
use super::part::{PERSON, PartIx, Role, SEVERAL};
use super::statement::{Noun, Statement};
use super::vocabulary::Vocabulary;

/// Words for people who belong together, by how many they are.
const COLLECTIVES: [(Number, &str); 4] = [
    (Number::Two, "couple pair"),
    (Number::Several, "couples"),
    (
        Number::Group,
        "band class family gang group groups team teams",
    ),
    (Number::Crowd, "audience crowd crowds"),
];

/// Words before a noun that say how many there are, beside collectives with "of".
const NUMBERS: [(Number, &str); 3] = [
    (Number::Two, "two both"),
    (
        Number::Several,
        "three four five six seven eight several some many multiple",
    ),
    (Number::Group, "herd flock bunch line row"),
];

/// Returns the number in whose list a word stands.
fn listed(lists: &[(Number, &str)], word: &str) -> Option<Number> {
    let is_listed = |words: &str| words.split(' ').any(|listed| listed == word);
    let list = lists.iter().find(|(_, words)| is_listed(words));
    list.map(|(number, _)| *number)
}

/// Words that may stand between a number and its noun, or between two subjects that belong together.
const BETWEEN: usize = 4;

/// A part that a caption mentions, and where.
#[derive(Clone, Copy, Debug)]
struct Mention {
    part: PartIx,
    /// Index of its first word.
    first: usize,
    /// Number of its words.
    words: usize,
    /// How many there are of a subject.
    number: Number,
}

/// The parts that a caption mentions, in the order of its words.
#[derive(Clone, Debug)]
pub struct Mentions<'a> {
    vocabulary: &'a Vocabulary,
    /// In the order of the caption; a phrase may mention several parts.
    found: Vec<Mention>,
    words: Vec<String>,
}

impl Vocabulary {
    /// Finds the parts that a caption mentions by their words: at each place the longest phrase that is known.
    #[must_use]
    pub fn mentions(&self, caption: &str) -> Mentions<'_> {
        let words = words(caption);
        let mut found: Vec<Mention> = Vec::new();
        let mut first = 0;
        while first < words.len() {
            let longest = self.longest.min(words.len() - first);
            let phrase = (1..=longest).rev().find_map(|count| {
                let phrase = words[first..first + count].join(" ");
                let parts = self.by_phrase.get(&phrase)?;
                Some((count, parts))
            });
            let Some((count, parts)) = phrase else {
                if let Some(mention) = self.collective(&words, first) {
                    found.push(mention);
                }
                first += 1;
                continue;
            };
            for part in parts {
                let number = match self.part(*part).role {
                    Role::Subject => self.number(&words, first, count, found.last()),
                    _ => Number::Any,
                };
                found.push(Mention {
                    part: *part,
                    first,
                    words: count,
                    number,
                });
            }
            first += count;
        }
        Mentions {
            vocabulary: self,
            found,
            words,
        }
    }

    /// Returns the people that a word for a group stands for, unless "of" and a noun follow.
    fn collective(&self, words: &[String], at: usize) -> Option<Mention> {
        let number = listed(&COLLECTIVES, &words[at])?;
        let has_noun = words.get(at + 1).is_some_and(|word| word == "of");
        let people = self.find(PERSON).filter(|_| !has_noun)?;
        Some(Mention {
            part: people,
            first: at,
            words: 1,
            number,
        })
    }

    /// Returns how many there are of the subject whose words begin at `first`.
    fn number(
        &self,
        words: &[String],
        first: usize,
        count: usize,
        before: Option<&Mention>,
    ) -> Number {
        let begin = before.map_or(0, |mention| mention.first + mention.words);
        let begin = begin.min(first).max(first.saturating_sub(BETWEEN));
        for at in (begin..first).rev() {
            let of_group = listed(&COLLECTIVES, &words[at]).filter(|_| words[at + 1] == "of");
            if let Some(number) = of_group.or_else(|| listed(&NUMBERS, &words[at])) {
                return number;
            }
        }
        let last = &words[first + count - 1];
        let is_plural = crate::words::singulars(last)
            .iter()
            .any(|singular| self.is_subject(singular));
        match is_plural && !self.is_base(last) {
            true => Number::Several,
            false => Number::One,
        }
    }

    /// Returns whether a word is a subject's word.
    fn is_subject(&self, word: &str) -> bool {
        let parts = self.by_phrase.get(word);
        parts.is_some_and(|parts| parts.iter().any(|ix| self.part(*ix).role == Role::Subject))
    }

    /// Returns whether a subject has this very word, which then is no plural: "sheep".
    fn is_base(&self, word: &str) -> bool {
        let parts = self.by_phrase.get(word).into_iter().flatten();
        let mut subjects = parts.filter(|ix| self.part(**ix).role == Role::Subject);
        subjects.any(|ix| self.part(*ix).words.iter().any(|own| own == word))
    }
}

impl Mentions<'_> {
    /// Returns the parts that are mentioned, each once.
    pub(crate) fn distinct(&self) -> Vec<PartIx> {
        let mut parts: Vec<PartIx> = self.found.iter().map(|mention| mention.part).collect();
        parts.sort_unstable();
        parts.dedup();
        parts
    }

    /// Returns the parts that are mentioned and those above them, each once.
    #[must_use]
    pub fn parts(&self) -> Vec<PartIx> {
        let mut parts = self.distinct();
        for mention in &self.found {
            parts.extend(self.vocabulary.ancestors(mention.part));
        }
        parts.extend(self.several_people());
        parts.sort_unstable();
        parts.dedup();
        parts
    }

    /// Returns the one statement that says most of what the caption does: its first subject with what this does,
    /// the first thing and the first place, each as specific as it is mentioned.
    #[must_use]
    pub fn statement(&self) -> Statement {
        let mut statement = Statement {
            doing: self.most_specific(Role::Doing),
            place: self.most_specific(Role::Place),
            ..Statement::default()
        };
        let subjects: Vec<&Mention> = self.of(Role::Subject).collect();
        if let Some(first) = subjects.first() {
            statement.subject = Some(self.joined(first, &subjects));
        }
        let other_subject = || {
            let subject = statement.subject?.part;
            let is_other =
                |mention: &&&Mention| self.vocabulary.common(mention.part, subject).is_none();
            subjects.iter().find(is_other).map(|mention| mention.part)
        };
        statement.thing = self.most_specific(Role::Thing).or_else(other_subject);
        statement
    }

    /// Returns the part for several people if a noun says so, or if two different people are mentioned.
    fn several_people(&self) -> Option<PartIx> {
        let words = self.vocabulary;
        let (person, several) = (words.find(PERSON)?, words.find(SEVERAL)?);
        let people = self.of(Role::Subject);
        let people = people.filter(|found| words.is_within(found.part, person));
        let people: Vec<&Mention> = people.collect();
        let are_different = |one: &Mention, other: &Mention| {
            one.first != other.first
                && !words.is_within(one.part, other.part)
                && !words.is_within(other.part, one.part)
        };
        let several_said = people.iter().enumerate().any(|(at, one)| {
            let is_plural = !matches!(one.number, Number::One | Number::Any);
            is_plural || people[..at].iter().any(|other| are_different(one, other))
        });
        several_said.then_some(several)
    }

    fn of(&self, role: Role) -> impl Iterator<Item = &Mention> {
        let is_role = move |mention: &&Mention| self.vocabulary.part(mention.part).role == role;
        self.found.iter().filter(is_role)
    }

    /// Returns the first part of a role, or the first one below it that is mentioned too.
    fn most_specific(&self, role: Role) -> Option<PartIx> {
        let mut parts = self.of(role).map(|mention| mention.part);
        let first = parts.next()?;
        let deeper = |known: PartIx, part: PartIx| match self.vocabulary.is_within(part, known) {
            true => part,
            false => known,
        };
        Some(parts.fold(first, deeper))
    }

    /// Returns the first subject together with those that an "and" joins to it: "a man and a woman" are two people.
    fn joined(&self, first: &Mention, subjects: &[&Mention]) -> Noun {
        let mut noun = Noun {
            part: first.part,
            number: first.number,
        };
        let mut end = first.first + first.words;
        for next in subjects.iter().skip(1) {
            // Another part of the same phrase.
            if next.first < end {
                if self.vocabulary.is_within(next.part, noun.part) {
                    noun.part = next.part;
                }
                continue;
            }
            let between = &self.words[end..next.first];
            let is_joined = between.len() <= BETWEEN && between.iter().any(|word| word == "and");
            let common = self.vocabulary.common(noun.part, next.part);
            let Some(common) = common.filter(|_| is_joined) else {
                break;
            };
            noun = Noun {
                part: common,
                number: match (noun.number, next.number) {
                    (Number::One, Number::One) => Number::Two,
                    _ => Number::Several,
                },
            };
            end = next.first + next.words;
        }
        noun
    }
}

/// Returns the words of a caption in lower case.
fn words(caption: &str) -> Vec<String> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '\'' | '’');
    let words = caption.split(|c| !is_part(c));
    let words = words.filter(|word| word.chars().any(char::is_alphanumeric));
    let words = words.map(|word| word.trim_end_matches("'s").trim_end_matches("’s"));
    words.map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captions_become_statements() {
        let vocabulary = Vocabulary::everyday().unwrap();
        for (caption, expected) in [
            (
                "A black dog is running after a white ball in the snow.",
                "a dog running with a ball in snow",
            ),
            (
                "Two young guys with shaggy hair sit on a bench.",
                "two men sitting on a bench",
            ),
            (
                "Several climbers in a row are climbing the rock face.",
                "people climbing on rocks",
            ),
            (
                "A man and a woman walk down a street.",
                "two people walking on a street",
            ),
            (
                "a boy and a girl on a swing set",
                "two children on a playground",
            ),
            (
                "A group of kids play soccer in a field",
                "a group of children playing soccer in a field",
            ),
            (
                "The crowd watches at the stadium",
                "a crowd of people in a stadium",
            ),
            ("a hot dog with fries", "a sandwich"),
            (
                "Lady riding her bike past a bus",
                "a woman riding a bicycle by a bus",
            ),
            (
                "A woman with her dog on the beach",
                "a woman with a dog on a beach",
            ),
            ("Sheep graze on a hillside", "a sheep eating on a hill"),
            ("A football player jumps", "a person playing football"),
            ("an empty kitchen", "a kitchen"),
            ("the letter q", ""),
            ("", ""),
        ] {
            let statement = vocabulary.mentions(caption).statement();
            assert_eq!(statement.text(&vocabulary), expected, "{caption}");
        }
    }

    #[test]
    fn plurals_numbers_and_different_people_are_several() {
        let vocabulary = Vocabulary::everyday().unwrap();
        let several = vocabulary.find(SEVERAL).unwrap();
        for (caption, expected) in [
            ("Two men at a table", true),
            ("The crowd watches", true),
            ("a man and a boy in a boat", true),
            ("A family", true),
            ("A man runs", false),
            ("a boy , a small child", false),
            ("two dogs run after a girl", false),
            ("a tennis player", false),
        ] {
            let parts = vocabulary.mentions(caption).parts();
            assert_eq!(parts.contains(&several), expected, "{caption}");
        }
    }

    #[test]
    fn parts_are_mentioned_with_those_above_them() {
        let vocabulary = Vocabulary::everyday().unwrap();
        let mentions = vocabulary.mentions("A mother and her puppies at the seaside");
        let parts = mentions.parts().into_iter();
        let ids: Vec<&str> = parts.map(|ix| vocabulary.part(ix).id.as_str()).collect();
        let expected = "person adult woman animal dog outdoors beach";
        assert_eq!(ids.join(" "), expected);
        assert_eq!(mentions.found.len(), 3);
        assert_eq!(mentions.found[1].number, Number::Several);
    }

    #[test]
    fn numbers_are_read_before_the_noun() {
        let vocabulary = Vocabulary::everyday().unwrap();
        for (caption, number) in [
            ("a dog", Number::One),
            ("dogs", Number::Several),
            ("two small brown dogs", Number::Two),
            ("a group of dogs", Number::Group),
            ("a couple of women", Number::Two),
            ("a large crowd of people", Number::Crowd),
            ("people", Number::Several),
            ("a couple on a boat", Number::Two),
            ("a herd of sheep", Number::Group),
            ("man with two balls", Number::One),
        ] {
            let found = vocabulary.mentions(caption);
            assert_eq!(found.found[0].number, number, "{caption}");
        }
    }
}
