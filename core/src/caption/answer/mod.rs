//! The answer for a photo: the ladder of the taxonomy, and what the detectors of statements add to it.

mod told;

use std::collections::BTreeMap;

use self::told::Told;
use super::detectors::Detectors;
use super::result::{PathStep, Rung, Shown, TaxonomyResult};
use super::standing::{Standing, standings};
use crate::geometry::Space;
use crate::statements::{PERSON, PartIx, Role};

/// Probability from which a subject is kept although the taxonomy contradicts it.
const PLAIN: f64 = 0.85;

/// Caption ladder and taxonomy path of a photo's embedding, with what else the photo shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Caption {
    /// From general to specific.
    pub ladder: Vec<Rung>,
    /// Number of rungs, from the first on, that the evidence carries.
    pub said: usize,
    /// Other things that the photo shows, the most certain one first.
    pub shows: Vec<Shown>,
    /// Place in the taxonomy.
    pub taxonomy: TaxonomyResult,
}

/// A ladder with the place in the taxonomy that it was made from.
pub(super) struct Answer {
    ladder: Vec<Rung>,
    said: usize,
    taxonomy: TaxonomyResult,
}

impl Answer {
    /// Combines the ladder of a path with its probabilities.
    pub(super) fn of_tree(mut ladder: Vec<Rung>, taxonomy: TaxonomyResult) -> Self {
        let mut before: Option<f64> = None;
        for rung in &mut ladder {
            let step = taxonomy
                .path
                .iter()
                .find(|step| Some(&step.id) == rung.node.as_ref());
            let p = step.map(|step| step.p).or(before);
            rung.p = p.map(|p| before.map_or(p, |before| p.min(before)));
            before = rung.p;
        }
        let known = standings(&ladder, &taxonomy);
        Self {
            said: known
                .iter()
                .take_while(|standing| **standing == Standing::Known)
                .count(),
            ladder,
            taxonomy,
        }
    }

    pub(super) fn into_caption(self) -> Caption {
        self.showing(Vec::new())
    }

    fn showing(self, shows: Vec<Shown>) -> Caption {
        Caption {
            ladder: self.ladder,
            said: self.said,
            shows,
            taxonomy: self.taxonomy,
        }
    }

    /// Adds what the detectors tell of a photo's point, without the parts that the taxonomy [denies](Detectors::denied).
    ///
    /// If the taxonomy names the subject of the statement, the ladder keeps the taxonomy's names and ends with the rest
    /// of the statement: "a dog", "a gun dog", "a gun dog in snow". Otherwise the statement becomes the ladder, and
    /// `shows` lists what the taxonomy names.
    pub(super) fn told(
        mut self,
        detectors: &Detectors,
        denied: &[PartIx],
        space: &Space,
        point: &[f32],
    ) -> Caption {
        let mut p = detectors.probabilities(point, denied);
        let path = &self.taxonomy.path;
        let stop = path.iter().position(|step| step.id == self.taxonomy.stop);
        let named = named_parts(&path[..stop.map_or(0, |stop| stop + 1)], detectors);
        self.doubt_other_subjects(&mut p, &named, detectors);
        for (part, known) in &named {
            p[part.index()] = p[part.index()].max(*known);
        }
        let mut shows = detectors.shown(&p);
        self.show_named(&mut shows, &named, detectors);
        let scene = detectors.scene(&p);
        let Some(last) = scene.last().map(|last| last.statement) else {
            return self.showing(shows);
        };
        let told = Told {
            detectors,
            space,
            point,
            p,
            scene,
        };
        let is_named = |part: Option<PartIx>| part.is_some_and(|part| named.contains_key(&part));
        if self.said > 0 && is_named(last.part(Role::Subject)) {
            self.said = told.extend(&mut self.ladder, self.said, &last.with(Role::Subject, None));
        } else if self.said > 0 && last.subject.is_none() {
            // A place or things around the one thing that has a name.
            let words = detectors.vocabulary();
            let is_known = |thing: PartIx| {
                is_named(Some(thing)) || words.ancestors(thing).iter().any(|ix| is_named(Some(*ix)))
            };
            let thing = last.thing.filter(|thing| !is_known(*thing));
            self.said = told.extend(&mut self.ladder, self.said, &last.with(Role::Thing, thing));
        } else {
            self.ladder = told.rungs();
            self.said = self.ladder.len();
        }
        self.showing(shows)
    }

    /// Lowers the probabilities of subjects that the taxonomy speaks against, unless they are [`PLAIN`]. An animal is
    /// doubted if the path more probably leads elsewhere, and a person if it leads to an animal of which no kind is
    /// certain: a raccoon's face may be taken for a person, but a person beside a dog is no contradiction.
    fn doubt_other_subjects(
        &self,
        p: &mut [f64],
        named: &BTreeMap<PartIx, f64>,
        detectors: &Detectors,
    ) {
        let words = detectors.vocabulary();
        let person = words.find(PERSON);
        let is_subject = |ix: &PartIx| words.part(*ix).role == Role::Subject;
        let is_kind = |ix: &PartIx| is_subject(ix) && !words.ancestors(*ix).is_empty();
        let names_label = self.said > 0 && self.said == self.ladder.len();
        let names_animal = named.keys().any(is_kind) || names_label && named.keys().any(is_subject);
        let of_path = named_parts(&self.taxonomy.path, detectors);
        let last = self
            .said
            .checked_sub(1)
            .and_then(|last| self.ladder.get(last));
        let of_ladder = last.and_then(|rung| rung.p).unwrap_or_default();
        for ix in words.indices().filter(is_subject) {
            let leads_to = |on_path: PartIx| on_path == ix || words.is_within(ix, on_path);
            let others = of_path
                .iter()
                .filter(|(on_path, _)| is_subject(on_path) && !leads_to(**on_path));
            let of_others = others.map(|(_, p)| *p).fold(0.0, f64::max);
            let rival = match person {
                Some(person) if words.is_within(ix, person) && names_animal => continue,
                Some(person) if words.is_within(ix, person) => of_others,
                _ if of_path.keys().any(|on_path| leads_to(*on_path)) => of_others,
                _ => of_ladder,
            };
            let p = &mut p[ix.index()];
            if *p < rival.min(PLAIN) {
                *p = p.min(1.0 - rival);
            }
        }
    }

    /// Names what the taxonomy names among what the photo shows: "a sports car" for "a vehicle".
    fn show_named(
        &self,
        shows: &mut Vec<Shown>,
        named: &BTreeMap<PartIx, f64>,
        detectors: &Detectors,
    ) {
        let words = detectors.vocabulary();
        let last = self
            .said
            .checked_sub(1)
            .and_then(|last| self.ladder.get(last));
        let person = words.find(PERSON);
        let is_person = |text: &str| {
            let parts = words.mentions(text).parts();
            parts.iter().any(|ix| Some(*ix) == person)
        };
        let Some(rung) = last.filter(|rung| !is_person(&rung.text)) else {
            return;
        };
        // How many of a part's words, and of those above it, the taxonomy names.
        let share = |shown: &Shown| {
            let parts = words.mentions(&shown.text).parts();
            let known = parts.iter().filter(|ix| named.contains_key(ix)).count();
            (known, parts.len())
        };
        let is_thing = |shown: &&Shown| shown.role != Role::Place;
        let is_finer =
            |shown: &Shown| matches!(share(shown), (known, all) if 0 < known && known < all);
        if shows.iter().filter(is_thing).any(is_finer) {
            return;
        }
        shows.retain(|shown| {
            !is_thing(&shown) || !matches!(share(shown), (known, all) if known > 0 && known == all)
        });
        let p = rung.p.unwrap_or_default();
        let at = shows.partition_point(|other| other.p >= p);
        let has_subject = named.keys().any(|ix| words.part(*ix).role == Role::Subject);
        shows.insert(
            at,
            Shown {
                text: rung.text.clone(),
                p,
                role: if has_subject {
                    Role::Subject
                } else {
                    Role::Thing
                },
                node: rung.node.clone(),
            },
        );
    }
}

/// Returns the parts that steps of a path name, with their probabilities. People are left out: how many there are and of
/// what age is what the detectors tell.
fn named_parts(path: &[PathStep], detectors: &Detectors) -> BTreeMap<PartIx, f64> {
    let words = detectors.vocabulary();
    let person = words.find(PERSON);
    let is_person = |ix: PartIx| person.is_some_and(|person| words.is_within(ix, person));
    let mut named = BTreeMap::new();
    for step in path {
        let same = |ix: &PartIx| words.part(*ix).node.as_deref() == Some(&step.id);
        let by_node = words.indices().filter(same);
        let by_name = words.mentions(&step.name).parts().into_iter();
        for part in by_node.chain(by_name).filter(|ix| !is_person(*ix)) {
            // The first step that names a part is the most certain one.
            if matches!(words.part(part).role, Role::Subject | Role::Thing) {
                named.entry(part).or_insert(step.p);
            }
        }
    }
    named
}

#[cfg(test)]
mod tests;
