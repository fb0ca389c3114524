//! The parts of a vocabulary and their order.

use std::collections::HashMap;

use super::english::forms;
use super::parse;
use super::part::{Part, PartIx, Role};
use crate::error::Result;

/// The shipped vocabulary of what people photograph, in the format of [`Vocabulary::from_tsv`].
pub const EVERYDAY: &str = include_str!("everyday.tsv");

/// The parts that statements are made of.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    parts: Vec<Part>,
    by_id: HashMap<String, PartIx>,
    /// The parts above each part, nearest first.
    ancestors: Vec<Vec<PartIx>>,
    /// The parts that a phrase of captions mentions.
    pub(super) by_phrase: HashMap<String, Vec<PartIx>>,
    /// Words of the longest phrase.
    pub(super) longest: usize,
}

impl Vocabulary {
    /// Reads a vocabulary: tab-separated columns `role`, `id`, `above`, `excludes`, `name`, `link`, `node` and
    /// `words`; lists are separated by `|`. See `docs/statements.md`.
    ///
    /// # Errors
    /// [`crate::CoreError::Statements`] with the line and what is wrong in it.
    pub fn from_tsv(text: &str) -> Result<Self> {
        let parts = parse::read(text)?;
        let mut ancestors: Vec<Vec<PartIx>> = Vec::with_capacity(parts.len());
        for part in &parts {
            // Nearest first: parents, then theirs. Parents stand on earlier lines.
            let mut above = part.above.clone();
            for parent in &part.above {
                for ancestor in &ancestors[parent.index()] {
                    if !above.contains(ancestor) {
                        above.push(*ancestor);
                    }
                }
            }
            ancestors.push(above);
        }
        let (mut by_phrase, mut longest) = (HashMap::<String, Vec<PartIx>>::new(), 0);
        for (index, part) in parts.iter().enumerate() {
            for phrase in forms(&part.words, part.role == Role::Doing) {
                longest = longest.max(phrase.split(' ').count());
                by_phrase.entry(phrase).or_default().push(PartIx::at(index));
            }
        }
        let ids = parts.iter().enumerate();
        Ok(Self {
            by_id: ids
                .map(|(at, part)| (part.id.clone(), PartIx::at(at)))
                .collect(),
            parts,
            ancestors,
            by_phrase,
            longest,
        })
    }

    /// Returns the shipped vocabulary.
    ///
    /// # Errors
    /// Never: the tests read this file.
    pub fn everyday() -> Result<Self> {
        Self::from_tsv(EVERYDAY)
    }

    /// Writes the vocabulary in the format of [`from_tsv`](Self::from_tsv).
    #[must_use]
    pub fn to_tsv(&self) -> String {
        parse::write(&self.parts)
    }

    /// Returns all parts, each after those above it.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Iterates over the indices of all parts.
    pub fn indices(&self) -> impl Iterator<Item = PartIx> + use<> {
        (0..self.parts.len()).map(PartIx::at)
    }

    /// Returns a part.
    ///
    /// # Panics
    /// For an index of another vocabulary.
    #[must_use]
    pub fn part(&self, ix: PartIx) -> &Part {
        &self.parts[ix.index()]
    }

    /// Returns the part with an id.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<PartIx> {
        self.by_id.get(id).copied()
    }

    /// Returns the parts above a part, nearest first, without itself.
    #[must_use]
    pub fn ancestors(&self, ix: PartIx) -> &[PartIx] {
        &self.ancestors[ix.index()]
    }

    /// Returns whether a part is `other` or below it.
    #[must_use]
    pub fn is_within(&self, ix: PartIx, other: PartIx) -> bool {
        ix == other || self.ancestors(ix).contains(&other)
    }

    /// Returns whether two parts cannot be true of the same photo.
    pub(crate) fn exclude_each_other(&self, one: PartIx, other: PartIx) -> bool {
        let with_ancestors = |ix| [ix].into_iter().chain(self.ancestors(ix).iter().copied());
        with_ancestors(one).any(|one| {
            let excludes = &self.part(one).excludes;
            with_ancestors(other).any(|other| excludes.contains(&other))
        })
    }

    /// Returns the nearest part that is above both or one of them.
    #[must_use]
    pub fn common(&self, one: PartIx, other: PartIx) -> Option<PartIx> {
        let mut candidates = [one].into_iter().chain(self.ancestors(one).iter().copied());
        candidates.find(|candidate| self.is_within(other, *candidate))
    }
}
