//! The parts of statements.

use serde::{Deserialize, Serialize};

use super::english::Name;
use super::number::Number;

/// Id of the part that all people are below. A vocabulary without it has no people.
pub const PERSON: &str = "person";

/// Id of the part that says that there is more than one person, below [`PERSON`]. It has no words of its own: the
/// numbers of nouns mention it.
pub const SEVERAL: &str = "several";

/// The question that a part answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Who or what: a person or an animal.
    Subject,
    /// Doing what.
    Doing,
    /// With what.
    Thing,
    /// Where.
    Place,
}

impl Role {
    /// All roles, in the order in which a sentence says them.
    pub const ALL: [Self; 4] = [Self::Subject, Self::Doing, Self::Thing, Self::Place];

    /// Returns the name in files and results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Subject => "subject",
            Self::Doing => "doing",
            Self::Thing => "thing",
            Self::Place => "place",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// Index of a part in its vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartIx(u16);

impl PartIx {
    pub(super) fn at(index: usize) -> Self {
        // A vocabulary has far fewer parts.
        Self(u16::try_from(index).unwrap_or(u16::MAX))
    }

    /// Returns the index.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A part of statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its id, unique in the vocabulary.
    pub id: String,
    /// The question that it answers.
    pub role: Role,
    /// Parts that are more general, without those above them.
    pub above: Vec<PartIx>,
    /// Parts that cannot be true of the same photo, nor can those below them.
    pub excludes: Vec<PartIx>,
    /// Its name in English; a part without a name is never said.
    pub(super) name: Option<Name>,
    /// Preposition before a thing or a place.
    pub link: String,
    /// Subjects and things that are objects of a doing, as are all below them: "riding a motorcycle".
    pub objects: Vec<PartIx>,
    /// Id of the node of a taxonomy that means the same.
    pub node: Option<String>,
    /// Words and phrases of captions that mention it.
    pub words: Vec<String>,
}

impl Part {
    /// Returns whether it can be said.
    #[must_use]
    pub fn is_sayable(&self) -> bool {
        self.name.is_some()
    }

    /// Returns whether it can be said where its number is not known.
    pub(crate) fn has_form_for_any_number(&self) -> bool {
        self.name.as_ref().is_some_and(Name::has_any)
    }

    /// Returns the words for a number of it; empty for a part that is never said.
    #[must_use]
    pub fn text(&self, number: Number) -> String {
        let name = self.name.as_ref();
        match self.role {
            Role::Subject | Role::Thing => name.map(|name| name.phrase(number)),
            Role::Doing | Role::Place => name.map(|name| name.as_is().to_owned()),
        }
        .unwrap_or_default()
    }
}
