//! Chains of texts made from captions by rule: statements that grow toward what the caption says, then the caption
//! itself, as the four tiers of HierarCaps.

use std::sync::Arc;

use espalier_core::statements::{Noun, Number, PartIx, Role, Statement, Vocabulary};

use crate::records::lineage::{NegativeKind, TextChain};
use crate::records::random::Random;

/// Statements of a chain; the caption follows them.
const STATEMENTS: usize = 3;

/// Makes chains of captions, with negatives of a kind.
#[derive(Clone, Debug)]
pub struct CaptionChains {
    vocabulary: Arc<Vocabulary>,
    kind: NegativeKind,
}

impl CaptionChains {
    /// Creates chains of the statements of a vocabulary.
    pub fn new(vocabulary: Arc<Vocabulary>, kind: NegativeKind) -> Self {
        Self { vocabulary, kind }
    }

    /// Returns the chain of a caption; `None` if the caption mentions too little for three statements. A
    /// negative says something else in the place of one part.
    pub(crate) fn draw(&self, caption: &str, random: &mut Random) -> Option<TextChain> {
        let words = &*self.vocabulary;
        let tiers = tiers(words, caption)?;
        let positives = texts(words, &tiers, caption);

        let mut negatives = Vec::with_capacity(positives.len());
        let mut before = Statement::default();
        for (at, tier) in tiers.into_iter().chain([tiers[STATEMENTS - 1]]).enumerate() {
            let roles = match self.kind {
                // What this tier adds; the caption adds to all that its statement says.
                NegativeKind::SameTier if at < STATEMENTS => added(&before, &tier),
                NegativeKind::BelowSibling if at > 0 => said(&before),
                _ => said(&tier),
            };
            negatives.push(self.contradiction(tier, &roles, random)?.text(words));
            before = tier;
        }
        Some(TextChain {
            positives,
            negatives,
        })
    }

    /// Returns the statement with another part in one of these roles.
    fn contradiction(
        &self,
        statement: Statement,
        roles: &[Role],
        random: &mut Random,
    ) -> Option<Statement> {
        // Two statements of the same part differ in their number.
        let Some(role) = pick(roles, random) else {
            let noun = statement.subject?;
            let number = match noun.number {
                Number::Any | Number::One => Number::Several,
                _ => Number::One,
            };
            let subject = Some(Noun { number, ..noun });
            return Some(Statement {
                subject,
                ..statement
            });
        };
        let own = statement.part(*role)?;
        let words = &self.vocabulary;
        let related = |ix: PartIx| words.is_within(ix, own) || words.is_within(own, ix);
        // A thing may be an animal: another animal takes its place.
        let kind = words.part(own).role;
        let others = words.indices().filter(|ix| {
            let part = words.part(*ix);
            part.role == kind && part.is_sayable() && !related(*ix)
        });
        let others: Vec<PartIx> = others.collect();
        let other = *pick(&others, random)?;
        Some(statement.with(*role, Some(other)))
    }
}

/// Returns the texts of a caption from general to specific, the caption last; `None` if it mentions too little
/// for three statements.
pub fn positives(vocabulary: &Vocabulary, caption: &str) -> Option<Vec<String>> {
    let tiers = tiers(vocabulary, caption)?;
    Some(texts(vocabulary, &tiers, caption))
}

fn tiers(vocabulary: &Vocabulary, caption: &str) -> Option<[Statement; STATEMENTS]> {
    let growth = vocabulary.mentions(caption).statement().growth(vocabulary);
    let last = growth.len().checked_sub(1)?;
    (growth.len() >= STATEMENTS).then(|| [growth[0], growth[last.div_ceil(2)], growth[last]])
}

fn texts(vocabulary: &Vocabulary, tiers: &[Statement], caption: &str) -> Vec<String> {
    let statements = tiers.iter().map(|tier| tier.text(vocabulary));
    let caption = caption.trim().to_owned();
    statements.chain([caption]).collect()
}

fn pick<'a, T>(from: &'a [T], random: &mut Random) -> Option<&'a T> {
    let count = u32::try_from(from.len()).ok().filter(|count| *count > 0)?;
    from.get(random.below(count) as usize)
}

/// Returns the roles of which a statement has a part.
fn said(statement: &Statement) -> Vec<Role> {
    added(&Statement::default(), statement)
}

/// Returns the roles of which a statement has another part than a more general one.
fn added(general: &Statement, statement: &Statement) -> Vec<Role> {
    let is_added = |role: &Role| statement.part(*role) != general.part(*role);
    Role::ALL.into_iter().filter(is_added).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::random::Purpose;

    fn chain(caption: &str, kind: NegativeKind, seed: u64) -> Option<TextChain> {
        let vocabulary = Arc::new(Vocabulary::everyday().unwrap());
        let mut random = Random::new(seed, Purpose::Sample, 0, 0);
        CaptionChains::new(vocabulary, kind).draw(caption, &mut random)
    }

    #[test]
    fn a_chain_grows_toward_its_caption() {
        let caption = " A black dog is running on the beach .";
        let found = chain(caption, NegativeKind::SameTier, 0).unwrap();
        let expected = [
            "an animal",
            "a dog running",
            "a dog running on a beach",
            "A black dog is running on the beach .",
        ];
        assert_eq!(found.positives, expected);
        assert!(chain("something blue", NegativeKind::SameTier, 0).is_none());
        assert!(chain("a dog", NegativeKind::SameTier, 0).is_none());
    }

    #[test]
    fn negatives_contradict_their_positive_and_keep_what_is_above_it() {
        let caption = "A black dog is running on the beach .";
        for seed in 0..50 {
            let found = chain(caption, NegativeKind::SameTier, seed).unwrap();
            let [general, middle, last, caption] = &found.negatives[..] else {
                panic!("{found:?}")
            };
            assert!(
                !general.contains("animal") && !general.contains("dog"),
                "{general}"
            );
            // The middle tier adds what the dog does and that it is one.
            assert_ne!(middle, "a dog running");
            assert!(
                last.starts_with("a dog running ") && !last.contains("beach"),
                "{last}"
            );
            assert_ne!(caption, "a dog running on a beach");

            let below = chain(&found.positives[3], NegativeKind::BelowSibling, seed).unwrap();
            assert!(!below.negatives[1].contains("dog"), "{below:?}");
            assert!(below.negatives[2].ends_with("on a beach"), "{below:?}");
        }
    }

    #[test]
    fn statements_that_differ_in_their_number_have_another_number_as_their_negative() {
        let found = chain("Two men", NegativeKind::SameTier, 3).unwrap();
        assert_eq!(found.positives[0], "one or more people");
        let mut pairs = found.negatives.iter().zip(&found.positives);
        assert!(pairs.all(|(negative, positive)| negative != positive));
    }
}
