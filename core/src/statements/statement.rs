//! One statement, its English, and what is more general.

use super::english::Name;
use super::number::Number;
use super::part::{PartIx, Role};
use super::vocabulary::Vocabulary;
use crate::error::{CoreError, Result};

/// Stands in the name of a doing for its object while that is not known: "throwing something".
const SOMETHING: &str = " something";

/// A subject and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Noun {
    /// The subject.
    pub part: PartIx,
    /// How many there are.
    pub number: Number,
}

/// A statement about a photo: at most one part of each role. Without any part it says nothing and holds of every
/// photo.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Statement {
    /// Who or what.
    pub subject: Option<Noun>,
    /// Doing what.
    pub doing: Option<PartIx>,
    /// With what; an animal or a person can be it, too.
    pub thing: Option<PartIx>,
    /// Where.
    pub place: Option<PartIx>,
}

impl Statement {
    /// Returns its part of a role.
    #[must_use]
    pub fn part(&self, role: Role) -> Option<PartIx> {
        match role {
            Role::Subject => self.subject.map(|noun| noun.part),
            Role::Doing => self.doing,
            Role::Thing => self.thing,
            Role::Place => self.place,
        }
    }

    /// Returns the statement with another part of a role, or with none. A subject keeps its number.
    #[must_use]
    pub fn with(self, role: Role, part: Option<PartIx>) -> Self {
        let number = self.subject.map_or(Number::Any, |noun| noun.number);
        let mut statement = self;
        match role {
            Role::Subject => statement.subject = part.map(|part| Noun { part, number }),
            Role::Doing => statement.doing = part,
            Role::Thing => statement.thing = part,
            Role::Place => statement.place = part,
        }
        statement
    }

    /// Returns the statement in English, without a capital and a full stop; empty if it says nothing.
    ///
    /// A thing that the doing names already is not said again: "riding a bicycle", not "riding a bicycle with a
    /// bicycle". An object of the doing follows it without a preposition and replaces "something": "throwing
    /// a ball".
    #[must_use]
    pub fn text(&self, vocabulary: &Vocabulary) -> String {
        let subject = self.subject.and_then(|Noun { part, number }| {
            let name = vocabulary.part(part).name.as_ref()?;
            Some(name.phrase(number))
        });
        self.text_about(&subject.unwrap_or_default(), vocabulary)
    }

    /// As [`text`](Self::text), with other words for the subject: "a gun dog" in "a gun dog in snow".
    pub(crate) fn text_about(&self, subject: &str, vocabulary: &Vocabulary) -> String {
        let mut text = subject.to_owned();
        let mut say = |link: &str, phrase: &str| {
            if text.is_empty() {
                phrase.clone_into(&mut text);
                return;
            }
            for word in [link, phrase].into_iter().filter(|word| !word.is_empty()) {
                text.push(' ');
                text.push_str(word);
            }
        };
        let part = |ix: PartIx| vocabulary.part(ix);
        let name = |ix: PartIx| part(ix).name.as_ref();
        let doing = self.doing.and_then(name).map_or("", Name::as_is);
        let thing = self.thing.and_then(|ix| Some((part(ix), name(ix)?)));
        match thing.filter(|(_, name)| !doing.contains(name.as_is())) {
            Some((_, name)) if !doing.is_empty() && self.has_object(vocabulary) => {
                say("", doing.strip_suffix(SOMETHING).unwrap_or(doing));
                say("", &name.phrase(Number::Any));
            }
            Some((thing, name)) => {
                say("", doing);
                let link = if thing.link.is_empty() {
                    "with"
                } else {
                    &thing.link
                };
                say(link, &name.phrase(Number::Any));
            }
            None => say("", doing),
        }
        if let Some(ix) = self.place
            && let Some(name) = &part(ix).name
        {
            say(&part(ix).link, name.as_is());
        }
        text
    }

    /// Returns whether its thing is an object of its doing.
    fn has_object(&self, vocabulary: &Vocabulary) -> bool {
        let (Some(doing), Some(thing)) = (self.doing, self.thing) else {
            return false;
        };
        let mut objects = vocabulary.part(doing).objects.iter();
        objects.any(|object| vocabulary.is_within(thing, *object))
    }

    /// Returns whether a photo of which this holds is one of which `general` holds: `general` has no part that
    /// this one lacks, and none that is more specific.
    #[must_use]
    pub fn entails(&self, general: &Self, vocabulary: &Vocabulary) -> bool {
        let number = |statement: &Self| statement.subject.map_or(Number::Any, |noun| noun.number);
        let mut roles = Role::ALL.into_iter();
        number(self).is_within(number(general))
            && roles.all(|role| match (self.part(role), general.part(role)) {
                (_, None) => true,
                (None, Some(_)) => false,
                (Some(own), Some(general)) => vocabulary.is_within(own, general),
            })
    }

    /// Returns the way to this statement from the most general one, each saying more than the one before it: the
    /// subject and its number grow first, then come the doing, the thing and the place. Steps that are said in
    /// the same words as the one before are left out.
    #[must_use]
    pub fn growth(&self, vocabulary: &Vocabulary) -> Vec<Self> {
        let mut steps: Vec<Self> = Vec::new();
        let mut current = Self::default();
        // From the most general part on, along the first of the parts above each.
        let line = |part: PartIx| {
            let above = |part: &PartIx| vocabulary.part(*part).above.first().copied();
            let mut line: Vec<PartIx> = std::iter::successors(Some(part), above).collect();
            line.reverse();
            line
        };
        if let Some(noun) = self.subject {
            let path = line(noun.part);
            let numbers = std::iter::successors(Some(noun.number), |number| number.above());
            let mut numbers: Vec<Number> = numbers.collect();
            numbers.reverse();
            // "people", then "a group of people", then "a group of men".
            let counted = numbers.into_iter().map(|number| (path[0], number));
            let named = path.iter().skip(1).map(|part| (*part, noun.number));
            for (part, number) in counted.chain(named) {
                current.subject = Some(Noun { part, number });
                steps.push(current);
            }
        }
        for role in [Role::Doing, Role::Thing, Role::Place] {
            for part in self.part(role).into_iter().flat_map(line) {
                current = current.with(role, Some(part));
                steps.push(current);
            }
        }
        let mut said: Vec<(Self, String)> = Vec::with_capacity(steps.len());
        for step in steps {
            let text = step.text(vocabulary);
            match said.last_mut() {
                _ if text.is_empty() => {}
                // The later one says the same and is more specific.
                Some(last) if last.1 == text => last.0 = step,
                _ => said.push((step, text)),
            }
        }
        said.into_iter().map(|(step, _)| step).collect()
    }
}

impl Vocabulary {
    /// Returns the statement of parts with these ids, with this number of its subject. A second subject is a
    /// thing: "a man with a dog".
    ///
    /// # Errors
    /// [`CoreError::Statements`] for an id that is not there, and for two parts of one role.
    pub fn statement<'a>(
        &self,
        ids: impl IntoIterator<Item = &'a str>,
        number: Number,
    ) -> Result<Statement> {
        let fail = |reason: String| CoreError::Statements { line: 0, reason };
        let mut statement = Statement::default();
        for id in ids {
            let part = self.find(id);
            let part = part
                .ok_or_else(|| fail(format!("expected a part of the vocabulary, found `{id}`")))?;
            let role = self.part(part).role;
            let slot = match role {
                Role::Subject if statement.subject.is_none() => {
                    statement.subject = Some(Noun { part, number });
                    continue;
                }
                Role::Doing => &mut statement.doing,
                Role::Subject | Role::Thing => &mut statement.thing,
                Role::Place => &mut statement.place,
            };
            if slot.replace(part).is_some() {
                let role = role.name();
                return Err(fail(format!("expected one {role}, found another, `{id}`")));
            }
        }
        Ok(statement)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words() -> Vocabulary {
        Vocabulary::everyday().unwrap()
    }

    fn texts(ids: &[&str], number: Number) -> Vec<String> {
        let words = words();
        let statement = words.statement(ids.iter().copied(), number).unwrap();
        let growth = statement.growth(&words);
        growth.iter().map(|step| step.text(&words)).collect()
    }

    #[test]
    fn a_statement_grows_from_general_to_specific() {
        assert_eq!(
            texts(&["man", "eat", "table", "restaurant"], Number::Group),
            [
                "one or more people",
                "people",
                "a group of people",
                "a group of men",
                "a group of men eating",
                "a group of men eating at a table",
                "a group of men eating at a table indoors",
                "a group of men eating at a table in a restaurant",
            ]
        );
        assert_eq!(
            texts(&["dog", "run", "ball", "beach"], Number::One),
            [
                "an animal",
                "a dog",
                "a dog running",
                "a dog running with a ball",
                "a dog running with a ball outdoors",
                "a dog running with a ball on a beach",
            ]
        );
        assert_eq!(
            texts(&["kitchen"], Number::Any),
            ["indoors", "a room", "a kitchen"]
        );
        for (ids, expected) in [
            (["girl", "cycle", "bicycle"], "a girl riding a bicycle"),
            (["man", "ride", "motorcycle"], "a man riding a motorcycle"),
            (["dog", "catch", "frisbee"], "a dog catching a frisbee"),
            (
                ["dog", "catch", "trees"],
                "a dog catching something among trees",
            ),
            (
                ["man", "ride", "building"],
                "a man riding in front of a building",
            ),
            (["person", "eat", "food"], "a person eating food"),
        ] {
            assert_eq!(texts(&ids, Number::One).last().unwrap(), expected);
        }
        assert!(texts(&[], Number::Crowd).is_empty());
    }

    #[test]
    fn a_second_part_of_a_role_is_refused() {
        let words = words();
        let error = words.statement(["eat", "run"], Number::One).unwrap_err();
        assert!(error.to_string().contains("expected one doing"), "{error}");
        let error = words.statement(["unicorn"], Number::One).unwrap_err();
        assert!(error.to_string().contains("found `unicorn`"), "{error}");
    }

    /// Draws any statement of the parts of the shipped vocabulary that can be said.
    fn any_statement() -> impl Strategy<Value = Statement> {
        let words = words();
        let of = |role: Role| {
            let all = words.indices().filter(|ix| {
                let part = words.part(*ix);
                part.role == role && part.is_sayable()
            });
            let all: Vec<PartIx> = all.collect();
            proptest::option::of(proptest::sample::select(all))
        };
        let number = proptest::sample::select(Number::ALL.to_vec());
        let parts = Role::ALL.map(of);
        (parts, number).prop_map(|([subject, doing, thing, place], number)| Statement {
            subject: subject.map(|part| Noun { part, number }),
            doing,
            thing,
            place,
        })
    }

    proptest! {
        #[test]
        fn each_step_of_a_growth_entails_the_one_before_it(statement in any_statement()) {
            let words = words();
            let growth = statement.growth(&words);
            prop_assert_eq!(growth.is_empty(), statement == Statement::default());
            prop_assert!(statement.entails(&statement, &words));
            for pair in growth.windows(2) {
                prop_assert!(pair[1].entails(&pair[0], &words));
                prop_assert!(!pair[0].entails(&pair[1], &words));
                prop_assert_ne!(pair[0].text(&words), pair[1].text(&words));
            }
            if let Some(last) = growth.last() {
                prop_assert_eq!(last.text(&words), statement.text(&words));
            }
        }

        #[test]
        fn texts_are_plain_words(statement in any_statement()) {
            let text = statement.text(&words());
            prop_assert!(!text.contains("  ") && text.trim() == text, "{}", text);
            let words: Vec<&str> = text.split(' ').collect();
            for pair in words.windows(2) {
                let articles = pair.iter().filter(|word| ["a", "an", "the"].contains(word));
                prop_assert!(pair[0] != pair[1] && articles.count() < 2, "{}", text);
            }
        }
    }
}
