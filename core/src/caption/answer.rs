//! The answer for a photo: the ladder of the taxonomy, and what the detectors of statements add to it.

use std::collections::BTreeMap;

use super::detectors::{Detectors, TOLD};
use super::result::{PathStep, Rung, Shown, TaxonomyResult};
use super::scene::Likely;
use super::standing::{Standing, standings};
use crate::geometry::Space;
use crate::statements::{PERSON, PartIx, Role, Statement};

/// Probability from which a subject is kept although the taxonomy contradicts it.
const PLAIN: f64 = 0.8;

/// Caption ladder and taxonomy path of a photo's embedding, with what else the photo shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Caption {
    /// From general to specific.
    pub ladder: Vec<Rung>,
    /// Number of rungs, from the first on, that the evidence carries.
    pub said: usize,
    /// What else the photo shows, most certain first.
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

/// Results of the detectors for a photo.
struct Told<'a> {
    detectors: &'a Detectors,
    space: &'a Space,
    /// Point of the photo.
    point: &'a [f32],
    /// Probability of each part.
    p: Vec<f64>,
    /// One statement, from general to specific; not empty.
    scene: Vec<Likely>,
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

    /// Adds what the detectors tell of a photo's point.
    ///
    /// If the taxonomy names the subject of the statement, the ladder keeps the taxonomy's names and ends with the rest
    /// of the statement: "a dog", "a gun dog", "a gun dog in snow". Otherwise the statement becomes the ladder, and
    /// `shows` lists what the taxonomy names.
    pub(super) fn told(mut self, detectors: &Detectors, space: &Space, point: &[f32]) -> Caption {
        let path = &self.taxonomy.path;
        let stop = path.iter().position(|step| step.id == self.taxonomy.stop);
        let named = named_parts(&path[..stop.map_or(0, |stop| stop + 1)], detectors);
        let mut p = detectors.probabilities(point);
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
            self.extend(&told, &last.with(Role::Subject, None));
        } else if self.said > 0 && last.subject.is_none() {
            // A place or things around the one thing that has a name.
            let words = detectors.vocabulary();
            let is_known = |thing: PartIx| {
                is_named(Some(thing)) || words.ancestors(thing).iter().any(|ix| is_named(Some(*ix)))
            };
            let thing = last.thing.filter(|thing| !is_known(*thing));
            self.extend(&told, &last.with(Role::Thing, thing));
        } else {
            self.ladder = told.rungs();
            self.said = self.ladder.len();
        }
        self.showing(shows)
    }

    /// Lowers the probabilities of subjects that the taxonomy speaks against, unless they are [`PLAIN`]. An animal is
    /// doubted if the path more probably leads elsewhere, and a person if it leads to an animal that is not certain
    /// enough to be named: a raccoon's face may be taken for a person, but a person beside a dog is no contradiction.
    fn doubt_other_subjects(
        &self,
        p: &mut [f64],
        named: &BTreeMap<PartIx, f64>,
        detectors: &Detectors,
    ) {
        let words = detectors.vocabulary();
        let person = words.find(PERSON);
        let is_subject = |ix: &PartIx| words.part(*ix).role == Role::Subject;
        let names_animal = named.keys().any(is_subject);
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

    /// Says more of what the ladder names. The guesses below it say the same of themselves.
    fn extend(&mut self, told: &Told<'_>, more: &Statement) {
        let mut parts: Vec<PartIx> = Role::ALL
            .into_iter()
            .filter_map(|role| more.part(role))
            .collect();
        parts.sort_by(|one, other| told.p[other.index()].total_cmp(&told.p[one.index()]));
        let words = told.detectors.vocabulary();
        let guesses = self.ladder.split_off(self.said);
        let Some(named) = self.ladder.last().cloned() else {
            self.ladder = guesses;
            return;
        };
        let (mut statement, mut certainty) = (Statement::default(), 1.0);
        for part in parts {
            let p = named.p.unwrap_or_default() * certainty * told.p[part.index()];
            if p < TOLD {
                break;
            }
            certainty *= told.p[part.index()];
            statement = statement.with(words.part(part).role, Some(part));
            let before = self.ladder.last().unwrap_or(&named);
            let rung = told.rung(
                Some(before),
                part,
                statement.text_about(&named.text, words),
                p,
            );
            self.ladder.push(Rung {
                node: named.node.clone(),
                ..rung
            });
        }
        self.said = self.ladder.len();
        let radius = self.ladder.last().map_or(0.0, |rung| rung.radius);
        self.ladder.extend(guesses.into_iter().map(|guess| Rung {
            text: statement.text_about(&guess.text, words),
            radius: guess.radius.max(radius),
            p: guess.p.map(|p| p * certainty),
            ..guess
        }));
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

impl Told<'_> {
    /// Returns the ladder of the statement.
    fn rungs(&self) -> Vec<Rung> {
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
        let (radius, similarity) = (
            self.space.radius(point),
            self.space.score(point, self.point),
        );
        Rung {
            text,
            radius: before.map_or(radius, |before| radius.max(before.radius)),
            similarity: before.map_or(similarity, |before| similarity.min(before.similarity)),
            p: Some(p),
            node: None,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::detectors::{BIAS, POINTS, WEIGHTS};
    use super::super::result::PathStep;
    use super::*;
    use crate::statements::Vocabulary;
    use crate::weights::{HostTensor, Tensors};

    const SPACE: Space = Space::Lorentz { curvature: 1.0 };

    /// Detectors that give some parts a probability, whatever the photo, and all others none.
    fn detectors(p: &[(&str, f64)]) -> Detectors {
        let vocabulary = Vocabulary::everyday().unwrap();
        let count = vocabulary.parts().len();
        let mut bias = vec![-20.0; count];
        for (id, p) in p {
            bias[vocabulary.find(id).unwrap().index()] = (p / (1.0 - p)).ln() as f32;
        }
        // Later parts lie farther out.
        let points = (0..count).flat_map(|at| [at as f32 / 100.0, 0.0]).collect();
        let tensor = |shape: &[usize], data| HostTensor {
            shape: shape.to_vec(),
            data,
        };
        let tensors = Tensors {
            tensors: [
                (
                    WEIGHTS.to_owned(),
                    tensor(&[count, 2], vec![0.0; 2 * count]),
                ),
                (BIAS.to_owned(), tensor(&[count], bias)),
                (POINTS.to_owned(), tensor(&[count, 2], points)),
            ]
            .into(),
            ..Tensors::default()
        };
        Detectors::new(vocabulary, &tensors, 2).unwrap()
    }

    /// The answer of a tree whose path has these steps and stops at the last one that is at least as likely as not.
    fn tree(steps: &[(&str, f64)]) -> Answer {
        let stop = steps.iter().rfind(|(_, p)| *p >= 0.5).unwrap().0;
        stopped(steps, stop)
    }

    /// The answer of a tree whose path has these steps; each but the first has a rung.
    fn stopped(steps: &[(&str, f64)], stop: &str) -> Answer {
        let path: Vec<PathStep> = steps
            .iter()
            .map(|(name, p)| PathStep {
                id: (*name).to_owned(),
                name: (*name).to_owned(),
                p: *p,
            })
            .collect();
        let rung = |(at, step): (usize, &PathStep)| Rung {
            text: format!("a {}", step.name),
            radius: at as f64,
            similarity: -1.0,
            p: None,
            node: Some(step.id.clone()),
        };
        let ladder = path.iter().enumerate().skip(1).map(rung).collect();
        let stop = stop.to_owned();
        Answer::of_tree(ladder, TaxonomyResult { path, stop })
    }

    fn told(steps: &[(&str, f64)], parts: &[(&str, f64)]) -> Caption {
        let caption = tree(steps).told(&detectors(parts), &SPACE, &[0.1, 0.2]);
        let ladder = &caption.ladder;
        assert!(
            ladder
                .windows(2)
                .all(|w| w[0].radius <= w[1].radius && w[0].p >= w[1].p)
        );
        let mut texts: Vec<&str> = ladder.iter().map(|rung| rung.text.as_str()).collect();
        let count = texts.len();
        texts.sort_unstable();
        texts.dedup();
        assert_eq!(texts.len(), count, "{ladder:?}");
        assert!(caption.shows.windows(2).all(|w| w[0].p >= w[1].p));
        caption
    }

    fn said(caption: &Caption) -> Vec<&str> {
        caption.ladder[..caption.said]
            .iter()
            .map(|rung| rung.text.as_str())
            .collect()
    }

    fn shows(caption: &Caption) -> Vec<&str> {
        caption
            .shows
            .iter()
            .map(|shown| shown.text.as_str())
            .collect()
    }

    const NOTHING: [(&str, f64); 2] = [("entity", 1.0), ("pot", 0.2)];

    #[test]
    fn a_ladder_of_people_grows_by_parts_while_these_are_likely() {
        let parts = [
            ("several", 0.98),
            ("woman", 0.95),
            ("beach", 0.9),
            ("run", 0.7),
            ("boat", 0.6),
        ];
        let caption = told(&NOTHING, &parts);
        assert_eq!(
            said(&caption),
            [
                "people",
                "women",
                "women outdoors",
                "women on a beach",
                "women running on a beach"
            ]
        );
        assert_eq!(shows(&caption), ["women", "a beach", "running", "a boat"]);
        let last = caption.ladder.last().unwrap();
        assert!((last.p.unwrap() - 0.95 * 0.9 * 0.7).abs() < 1e-6);
    }

    #[test]
    fn a_subject_that_the_taxonomy_speaks_against_is_doubted() {
        // A cup is no animal, and a raccoon's face is no person, even where its name is not certain enough to be said.
        let cup = [("entity", 1.0), ("cup", 0.99)];
        assert_eq!(said(&told(&cup, &[("animal", 0.55)])), ["a cup"]);
        let of_person = |person: f64| {
            let tree = stopped(&[("entity", 1.0), ("animal", 0.88)], "entity");
            let detectors = detectors(&[("person", person), ("several", 0.01)]);
            let caption = tree.told(&detectors, &SPACE, &[0.1, 0.2]);
            shows(&caption).contains(&"a person")
        };
        assert!(!of_person(0.7) && of_person(0.85));
    }

    #[test]
    fn the_number_of_people_is_said_where_it_is_known() {
        let first = |several: f64| {
            let caption = told(&NOTHING, &[("person", 0.9), ("several", several)]);
            caption.ladder[0].text.clone()
        };
        assert_eq!(
            [first(0.1), first(0.4), first(0.8)],
            ["a person", "people", "people"]
        );
        // A child among others is not "a child", nor are adults called children.
        let children = told(&NOTHING, &[("child", 0.9), ("several", 0.6)]);
        assert_eq!(said(&children), ["people", "children"]);
        let unknown = told(&NOTHING, &[("child", 0.9), ("several", 0.4)]);
        assert_eq!(said(&unknown), ["people"]);
        let unsure = told(
            &NOTHING,
            &[("person", 0.9), ("child", 0.6), ("several", 0.1)],
        );
        assert_eq!(said(&unsure), ["a person"]);
    }

    #[test]
    fn what_the_tree_names_keeps_its_names_and_the_statement_says_more_of_it() {
        let steps = [
            ("entity", 1.0),
            ("animal", 0.98),
            ("dog", 0.95),
            ("gun dog", 0.9),
            ("setter", 0.3),
        ];
        let caption = told(&steps, &[("snow", 0.85), ("person", 0.6), ("run", 0.55)]);
        assert_eq!(
            said(&caption),
            ["a animal", "a dog", "a gun dog", "a gun dog in snow"]
        );
        let guess = caption.ladder.last().unwrap();
        assert_eq!(guess.text, "a setter in snow");
        assert!((guess.p.unwrap() - 0.255).abs() < 1e-6);
        // The dog is named once, by its most specific name.
        assert_eq!(
            shows(&caption),
            ["a gun dog", "snow", "a person", "running"]
        );
    }

    #[test]
    fn people_come_before_a_thing_that_has_a_name() {
        let steps = [("entity", 1.0), ("ball", 0.7)];
        let parts = [("person", 0.9), ("several", 0.05), ("sport", 0.8)];
        let caption = told(&steps, &parts);
        assert_eq!(
            said(&caption),
            [
                "a person",
                "a person doing sports",
                "a person doing sports with a ball"
            ]
        );
        assert_eq!(shows(&caption), ["a person", "doing sports", "a ball"]);
    }

    #[test]
    fn without_evidence_the_answer_is_that_of_the_tree() {
        let steps = [("entity", 1.0), ("bird", 0.8), ("robin", 0.3)];
        let alone = tree(&steps).into_caption();
        let caption = told(&steps, &[("person", 0.3)]);
        assert_eq!(caption.ladder, alone.ladder);
        assert_eq!((caption.said, alone.said), (1, 1));
        assert_eq!(shows(&caption), ["a bird"]);
        let nothing = told(&NOTHING, &[]);
        assert_eq!((nothing.said, nothing.shows.len()), (0, 0));
    }

    #[test]
    fn a_finer_part_is_not_replaced_by_what_the_tree_says() {
        let steps = [("entity", 1.0), ("animal", 0.9)];
        let caption = told(&steps, &[("dog", 0.7)]);
        assert_eq!(shows(&caption), ["a dog"]);
    }
}
