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

impl Caption {
    /// Combines the ladder of a path with its probabilities.
    pub(super) fn of_tree(mut ladder: Vec<Rung>, taxonomy: TaxonomyResult) -> Self {
        let mut before: Option<f64> = None;
        for rung in &mut ladder {
            let mut path = taxonomy.path.iter();
            let step = path.find(|step| Some(&step.id) == rung.node.as_ref());
            let p = step.map(|step| step.p).or(before);
            rung.p = p.map(|p| before.map_or(p, |before| p.min(before)));
            before = rung.p;
        }
        let known = standings(&ladder, &taxonomy).into_iter();
        let known = known.take_while(|standing| *standing == Standing::Known);
        Self {
            said: known.count(),
            ladder,
            shows: Vec::new(),
            taxonomy,
        }
    }

    /// Adds what the detectors tell of a photo's point; `p` are the probabilities of the parts.
    ///
    /// If the taxonomy names what the statement is about, the ladder keeps the taxonomy's names and ends with the rest
    /// of the statement: "a dog", "a gun dog", "a gun dog in snow". Otherwise the statement becomes the ladder, and
    /// `shows` lists what the taxonomy names.
    pub(super) fn told(
        mut self,
        detectors: &Detectors,
        mut p: Vec<f64>,
        space: &Space,
        point: &[f32],
    ) -> Self {
        let path = &self.taxonomy.path;
        let stop = path.iter().position(|step| step.id == self.taxonomy.stop);
        let named = named_parts(&path[..stop.map_or(0, |stop| stop + 1)], detectors);
        self.doubt_other_subjects(&mut p, &named, detectors);
        for (part, by) in &named {
            p[part.index()] = p[part.index()].max(by.p);
        }
        let scene = detectors.scene(&p);
        let Some(last) = scene.last().map(|last| last.statement) else {
            self.shows = self.shown(&p, &named, detectors);
            return self;
        };
        let told = Told {
            detectors,
            space,
            point,
            p,
            scene,
        };
        let noun = last.part(Role::Subject).or(last.thing);
        let is_refined = noun.is_some_and(|noun| self.refine(noun, &named, &told));
        self.shows = self.shown(&told.p, &named, detectors);
        let is_known = |part: PartIx| {
            let mut above = detectors.vocabulary().ancestors(part).iter();
            named.contains_key(&part) || above.any(|ix| named.contains_key(ix))
        };
        let taxonomy_leads = match last.part(Role::Subject) {
            Some(subject) => is_refined || named.contains_key(&subject),
            // The taxonomy may name another thing, which leads only if it is certain enough.
            None => {
                let first = noun.or(last.place).map_or(0.0, |ix| told.p[ix.index()]);
                noun.is_some_and(is_known) || self.certainty() >= first.min(PLAIN)
            }
        };
        if self.said > 0 && taxonomy_leads {
            // A doing, a place or things around the one thing that has a name.
            let thing = last.thing.filter(|thing| !is_known(*thing));
            let more = last.with(Role::Subject, None).with(Role::Thing, thing);
            self.said = told.extend(&mut self.ladder, self.said, &more);
        } else {
            self.ladder = told.rungs();
            self.said = self.ladder.len();
        }
        self
    }

    /// Returns the last rung that the evidence supports.
    fn last_supported(&self) -> Option<&Rung> {
        self.said.checked_sub(1).map(|last| &self.ladder[last])
    }

    /// Returns the probability of the last supported rung; 0 if there is none.
    fn certainty(&self) -> f64 {
        self.last_supported()
            .and_then(|rung| rung.p)
            .unwrap_or_default()
    }

    /// Returns the index in the path of the node that a rung names.
    fn step_of(&self, rung: &Rung) -> Option<usize> {
        let mut path = self.taxonomy.path.iter();
        path.position(|step| Some(&step.id) == rung.node.as_ref())
    }

    /// Adds a rung for the subject or thing of a statement if it is more specific than the last supported rung: "a dog"
    /// after "an animal". Returns whether it does.
    ///
    /// It is more specific if the path names it below that rung, or if that rung names a part above it in the vocabulary.
    /// Guesses that the path does not have below it are dropped.
    fn refine(&mut self, noun: PartIx, named: &BTreeMap<PartIx, NamedBy>, told: &Told) -> bool {
        let Some(last) = self.last_supported().and_then(|rung| self.step_of(rung)) else {
            return false;
        };
        let words = told.detectors.vocabulary();
        let step = named.get(&noun).map(|by| by.step);
        let is_finer = match step {
            Some(step) => step > last,
            None => words
                .ancestors(noun)
                .iter()
                .any(|above| named.get(above).is_some_and(|by| by.step == last)),
        };
        if is_finer {
            let mut guesses = self.ladder.split_off(self.said);
            guesses.retain(|rung| step.zip(self.step_of(rung)).is_some_and(|(a, b)| a < b));
            let rung = told.noun(noun, self.ladder.last());
            self.ladder.push(rung);
            self.said += 1;
            self.ladder.extend(guesses);
        }
        is_finer
    }

    /// Lowers the probabilities of subjects that the taxonomy speaks against, unless they are [`PLAIN`]. An animal is
    /// doubted if the path more probably leads elsewhere, and a person if it leads to an animal of which no kind is
    /// certain: a raccoon's face may be taken for a person, but a person beside a dog is no contradiction.
    fn doubt_other_subjects(
        &self,
        p: &mut [f64],
        named: &BTreeMap<PartIx, NamedBy>,
        detectors: &Detectors,
    ) {
        let words = detectors.vocabulary();
        let person = words.find(PERSON);
        let is_subject = |ix: &PartIx| words.part(*ix).role == Role::Subject;
        let is_kind = |ix: &PartIx| is_subject(ix) && !words.ancestors(*ix).is_empty();
        let names_label = self.said > 0 && self.said == self.ladder.len();
        let names_animal = named.keys().any(is_kind) || names_label && named.keys().any(is_subject);
        let of_path = named_parts(&self.taxonomy.path, detectors);
        let of_ladder = self.certainty();
        for ix in words.indices().filter(is_subject) {
            let leads_to = |on_path: PartIx| on_path == ix || words.is_within(ix, on_path);
            let others = of_path
                .iter()
                .filter(|(on_path, _)| is_subject(on_path) && !leads_to(**on_path));
            let of_others = others.map(|(_, by)| by.p).fold(0.0, f64::max);
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

    /// Returns what the photo shows, with the taxonomy's names: "a sports car" for "a vehicle".
    fn shown(
        &self,
        p: &[f64],
        named: &BTreeMap<PartIx, NamedBy>,
        detectors: &Detectors,
    ) -> Vec<Shown> {
        let words = detectors.vocabulary();
        let mut shows = detectors.shown(p);
        let person = words.find(PERSON);
        let is_person = |text: &str| {
            let parts = words.mentions(text).parts();
            parts.iter().any(|ix| Some(*ix) == person)
        };
        let Some(rung) = self.last_supported().filter(|rung| !is_person(&rung.text)) else {
            return shows;
        };
        // A rung that the path lacks is more specific than all that the path names.
        let last = self.step_of(rung).unwrap_or(usize::MAX);
        // Whether the path names any part of a text, and whether it names all of them down to the rung.
        let names = |shown: &Shown| {
            let parts = words.mentions(&shown.text).parts();
            let steps = parts.iter().map(|ix| named.get(ix).map(|by| by.step));
            let steps: Vec<Option<usize>> = steps.collect();
            let any = steps.iter().any(Option::is_some);
            let is_down_to_rung = |step: &Option<usize>| step.is_some_and(|step| step <= last);
            (any, any && steps.iter().all(is_down_to_rung))
        };
        let is_thing = |shown: &&Shown| shown.role != Role::Place;
        let is_finer = |shown: &Shown| matches!(names(shown), (true, false));
        if shows.iter().filter(is_thing).any(is_finer) {
            return shows;
        }
        shows.retain(|shown| !is_thing(&shown) || !names(shown).1);
        let p = rung.p.unwrap_or_default();
        let at = shows.partition_point(|other| other.p >= p);
        let has_subject = named.keys().any(|ix| words.part(*ix).role == Role::Subject);
        let shown = Shown {
            text: rung.text.clone(),
            p,
            role: match has_subject {
                true => Role::Subject,
                false => Role::Thing,
            },
            node: rung.node.clone(),
        };
        shows.insert(at, shown);
        shows
    }
}

/// The step of a path that names a part.
struct NamedBy {
    /// Its index in the path.
    step: usize,
    /// Its probability.
    p: f64,
}

/// Returns the parts that steps of a path name. People are left out: how many there are and of
/// what age is what the detectors tell.
fn named_parts(path: &[PathStep], detectors: &Detectors) -> BTreeMap<PartIx, NamedBy> {
    let words = detectors.vocabulary();
    let person = words.find(PERSON);
    let is_person = |ix: PartIx| person.is_some_and(|person| words.is_within(ix, person));
    let mut named = BTreeMap::new();
    for (at, step) in path.iter().enumerate() {
        let same = |ix: &PartIx| words.part(*ix).node.as_deref() == Some(&step.id);
        let by_node = words.indices().filter(same);
        let by_name = words.mentions(&step.name).parts().into_iter();
        for part in by_node.chain(by_name).filter(|ix| !is_person(*ix)) {
            // The first step that names a part is the most certain one.
            if matches!(words.part(part).role, Role::Subject | Role::Thing) {
                named.entry(part).or_insert(NamedBy {
                    step: at,
                    p: step.p,
                });
            }
        }
    }
    named
}

#[cfg(test)]
mod tests;
