//! Rungs of a ladder from the results of the detectors.

use super::super::detectors::{Detectors, TOLD};
use super::super::result::Rung;
use super::super::scene::Likely;
use crate::geometry::Space;
use crate::statements::{PartIx, Role, Statement};

/// Results of the detectors for a photo.
pub(super) struct Told<'a> {
    pub(super) detectors: &'a Detectors,
    pub(super) space: &'a Space,
    /// Point of the photo.
    pub(super) point: &'a [f32],
    /// Probability of each part.
    pub(super) p: Vec<f64>,
    /// One statement, from general to specific; not empty.
    pub(super) scene: Vec<Likely>,
}

impl Told<'_> {
    /// Returns the ladder of the statement.
    pub(super) fn rungs(&self) -> Vec<Rung> {
        let words = self.detectors.vocabulary();
        let mut rungs: Vec<Rung> = Vec::new();
        let mut before = Statement::default();
        for likely in &self.scene {
            let parts = Role::ALL.into_iter().filter_map(|role| {
                let part = likely.statement.part(role);
                part.filter(|_| part != before.part(role))
            });
            for part in parts {
                let text = likely.statement.text(words);
                // "Riding a bicycle" says the bicycle already.
                if rungs.last().is_none_or(|last| last.text != text) {
                    rungs.push(self.rung(rungs.last(), part, text, likely.p));
                }
            }
            before = likely.statement;
        }
        rungs
    }

    /// Returns the rung that a part adds: as far from the root as the farthest of its parts, and as close to the photo
    /// as the least close of them.
    fn rung(&self, before: Option<&Rung>, part: PartIx, text: String, p: f64) -> Rung {
        let point = self.detectors.point(part);
        let radius = self.space.radius(point);
        let similarity = self.space.score(point, self.point);
        Rung {
            text,
            radius: before.map_or(radius, |before| radius.max(before.radius)),
            similarity: before.map_or(similarity, |before| similarity.min(before.similarity)),
            p: Some(p),
            node: None,
        }
    }

    /// Returns the rung of a subject or thing alone.
    pub(super) fn noun(&self, part: PartIx, before: Option<&Rung>) -> Rung {
        let words = self.detectors.vocabulary();
        let p = self.p[part.index()];
        let p = before
            .and_then(|before| before.p)
            .map_or(p, |before| p.min(before));
        let text = words.part(part).text(self.detectors.number(&self.p, part));
        Rung {
            node: words.part(part).node.clone(),
            ..self.rung(before, part, text, p)
        }
    }

    /// Adds the parts of a statement to a ladder whose first `said` rungs the evidence carries, and returns how many it
    /// carries then. The guesses after these rungs get the same parts.
    pub(super) fn extend(&self, ladder: &mut Vec<Rung>, said: usize, more: &Statement) -> usize {
        let parts = Role::ALL.into_iter().filter_map(|role| more.part(role));
        let mut parts: Vec<PartIx> = parts.collect();
        parts.sort_by(|one, other| self.p[other.index()].total_cmp(&self.p[one.index()]));
        let words = self.detectors.vocabulary();
        let guesses = ladder.split_off(said);
        let Some(named) = ladder.last().cloned() else {
            *ladder = guesses;
            return said;
        };
        let (mut statement, mut certainty) = (Statement::default(), 1.0);
        for part in parts {
            let p = named.p.unwrap_or_default() * certainty * self.p[part.index()];
            if p < TOLD {
                break;
            }
            certainty *= self.p[part.index()];
            statement = statement.with(words.part(part).role, Some(part));
            let text = statement.text_about(&named.text, words);
            let rung = self.rung(ladder.last(), part, text, p);
            ladder.push(Rung {
                node: named.node.clone(),
                ..rung
            });
        }
        let said = ladder.len();
        let radius = ladder.last().map_or(0.0, |rung| rung.radius);
        ladder.extend(guesses.into_iter().map(|guess| Rung {
            text: statement.text_about(&guess.text, words),
            radius: guess.radius.max(radius),
            p: guess.p.map(|p| p * certainty),
            ..guess
        }));
        said
    }
}
