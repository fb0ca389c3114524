//! One statement about a photo, from general to specific.

use super::detectors::{Detectors, TOLD};
use crate::statements::{Noun, Number, PartIx, Role, Statement};

/// A statement with the probability that it is true of a photo.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Likely {
    pub(super) statement: Statement,
    pub(super) p: f64,
}

impl Detectors {
    /// Returns statements from the most general to the most specific that the probabilities of the parts carry: each
    /// adds a part to the one before it, or makes one more specific, whichever is most certain. The
    /// probability of a statement is the product of the probabilities of its parts.
    pub(super) fn scene(&self, p: &[f64]) -> Vec<Likely> {
        let told = self.told(p);
        let mut rungs: Vec<Likely> = Vec::new();
        loop {
            let before = rungs.last().map(|last| last.statement).unwrap_or_default();
            let options = told.iter();
            let options = options.filter_map(|ix| self.grown(before, *ix, &told, p));
            let likely = options.map(|statement| Likely {
                p: self.probability(&statement, p),
                statement,
            });
            // The subject comes first.
            let has_subject = |likely: &Likely| likely.statement.subject.is_some();
            let best = likely.max_by(|one, other| {
                let subject = has_subject(one).cmp(&has_subject(other));
                subject.then(one.p.total_cmp(&other.p))
            });
            match best.filter(|best| best.p >= TOLD) {
                Some(best) => rungs.push(best),
                None => return rungs,
            }
        }
    }

    /// Returns a statement with a part added, or with its part of the same role replaced by one right below it; `None`
    /// if the part is neither.
    fn grown(
        &self,
        before: Statement,
        ix: PartIx,
        told: &[PartIx],
        p: &[f64],
    ) -> Option<Statement> {
        let words = self.vocabulary();
        let role = words.part(ix).role;
        let above = words.ancestors(ix).iter();
        let mut above = above.filter(|above| told.contains(above));
        let fits = match before.part(role) {
            // The first part of a role is a general one.
            None => above.next().is_none(),
            // The new part must be the next one below the known part.
            Some(known) => {
                let above = above.filter(|above| words.is_within(**above, known));
                words.ancestors(ix).contains(&known) && above.count() == 1
            }
        };
        if !fits {
            return None;
        }
        match role {
            Role::Subject => {
                let (part, number) = (ix, self.number(p, ix));
                let subject = Some(Noun { part, number });
                Some(Statement { subject, ..before })
            }
            Role::Doing if !self.can_do(before.subject, ix) => None,
            _ => Some(before.with(role, Some(ix))),
        }
    }

    /// Returns whether a subject can do it: there is one, and neither the doing nor a kind of it is done to the subject,
    /// as "riding a horse" is to a horse.
    fn can_do(&self, subject: Option<Noun>, doing: PartIx) -> bool {
        let words = self.vocabulary();
        subject.is_some_and(|noun| {
            let name = words.part(noun.part).text(Number::One);
            let mut kinds = words.indices().filter(|ix| words.is_within(*ix, doing));
            name.is_empty() || !kinds.any(|ix| words.part(ix).text(Number::Any).contains(&name))
        })
    }

    fn probability(&self, statement: &Statement, p: &[f64]) -> f64 {
        let parts = Role::ALL
            .into_iter()
            .filter_map(|role| statement.part(role));
        parts.map(|ix| p[ix.index()]).product()
    }
}
