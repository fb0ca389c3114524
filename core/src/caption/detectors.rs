//! What a photo shows beside the one thing that the taxonomy names: people, doings, places, things.
//!
//! A bundle may carry a detector for each part of a vocabulary of statements: a logistic regression on
//! the direction of a photo's point. Unlike the labels of the taxonomy, which exclude each other, parts
//! hold together ("people", "a table", "a restaurant"), so each has a probability of its own: that at
//! least one of several people would mention it.

use std::cmp::Reverse;

use super::files;
use super::result::Shown;
use crate::bundle::BundleFiles;
use crate::error::{CoreError, Result};
use crate::statements::{Number, PERSON, PartIx, Role, SEVERAL, Vocabulary};
use crate::taxonomy::Taxonomy;
use crate::weights::Tensors;

/// Name of the tensor of weights, `[parts, d_embed]`.
pub const WEIGHTS: &str = "weights";
/// Name of the tensor of biases, `[parts]`.
pub const BIAS: &str = "bias";
/// Name of the tensor of the points of the parts' texts, `[parts, d_embed]`.
pub const POINTS: &str = "points";

/// Least probability at which a part is told.
pub const TOLD: f64 = 0.5;

/// The same for subjects: the answer begins with one, so a wrong one describes the photo wrongly as a whole.
pub const TOLD_OF_A_SUBJECT: f64 = 0.6;

/// The same for kinds of people: a wrong age is worse than "people".
pub const TOLD_OF_A_PERSON: f64 = 0.8;

/// The same for kinds of these, such as a woman or a boy: a wrong gender is worse than "people".
pub const TOLD_OF_A_KIND: f64 = 0.9;

/// Maximum probability of several people at which the answer says "a person".
const ONE: f64 = 0.2;

/// Minimum probability of several people at which the answer says "people"; between both it says "one or more people".
const MANY: f64 = 0.7;

/// Minimum number of labels of a subject at which the taxonomy may deny it.
const DENIABLE: usize = 20;

/// Maximum share of these labels, all together, at which the taxonomy denies the subject.
const DENIED: f32 = 0.02;

/// The detectors of a bundle, one for each part of its vocabulary.
#[derive(Clone, Debug)]
pub struct Detectors {
    vocabulary: Vocabulary,
    /// `[parts, width]`, row by row.
    weights: Vec<f32>,
    bias: Vec<f32>,
    /// `[parts, width]`, row by row.
    points: Vec<f32>,
    width: usize,
}

impl Detectors {
    /// Combines a vocabulary with the weights, biases and points of its parts, in its order.
    ///
    /// # Errors
    /// [`CoreError::TensorNames`] or [`CoreError::TensorShape`] unless the tensors are [`WEIGHTS`],
    /// [`BIAS`] and [`POINTS`] of the vocabulary's parts; [`CoreError::Tensor`] for a value that is not finite.
    pub fn new(vocabulary: Vocabulary, tensors: &Tensors, width: usize) -> Result<Self> {
        let parts = vocabulary.parts().len();
        let take = |name: &str, shape: &[usize]| {
            let tensor = tensors.tensors.get(name);
            let tensor = tensor.ok_or_else(|| CoreError::TensorNames {
                missing: vec![name.into()],
                unknown: tensors.tensors.keys().cloned().collect(),
            })?;
            if tensor.shape != shape {
                return Err(CoreError::TensorShape {
                    tensor: name.into(),
                    expected: shape.to_vec(),
                    found: tensor.shape.clone(),
                });
            }
            if tensor.data.iter().all(|value| value.is_finite()) {
                return Ok(tensor.data.clone());
            }
            Err(CoreError::Tensor {
                tensor: name.into(),
                reason: "has a value that is not finite".into(),
            })
        };
        Ok(Self {
            weights: take(WEIGHTS, &[parts, width])?,
            bias: take(BIAS, &[parts])?,
            points: take(POINTS, &[parts, width])?,
            vocabulary,
            width,
        })
    }

    /// Reads the detectors of a bundle; `None` if it has none.
    ///
    /// # Errors
    /// As [`new`](Self::new), and for a vocabulary that cannot be read.
    pub(super) fn read(bundle: &BundleFiles, width: usize) -> Result<Option<Self>> {
        if bundle.get(files::STATEMENTS).is_err() {
            return Ok(None);
        }
        let vocabulary = Vocabulary::from_tsv(bundle.text(files::STATEMENTS)?)?;
        let tensors = bundle.tensors(files::DETECTORS)?;
        Self::new(vocabulary, &tensors, width).map(Some)
    }

    /// Returns the vocabulary.
    #[must_use]
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// Returns the point of a part's text.
    pub(super) fn point(&self, ix: PartIx) -> &[f32] {
        &self.points[ix.index() * self.width..][..self.width]
    }

    /// Returns the probability of each part for a photo's point, in the order of the vocabulary. A
    /// part is at least as probable as each part below it.
    ///
    /// # Shapes
    /// `[d_embed] -> [parts]`
    #[must_use]
    pub fn probabilities(&self, point: &[f32]) -> Vec<f64> {
        self.probabilities_without(point, &[])
    }

    /// As [`probabilities`](Self::probabilities), for a photo that does not show some parts.
    #[must_use]
    pub fn probabilities_without(&self, point: &[f32], denied: &[PartIx]) -> Vec<f64> {
        let scores = self.scores(point, denied).into_iter();
        scores.map(|score| 1.0 / (1.0 + (-score).exp())).collect()
    }

    /// Returns the subjects of which a taxonomy has many labels while a photo looks like none of them: a panda, whose
    /// label is another one, may look like a dog to the detector alone. `shares` are those of the taxonomy's nodes.
    #[must_use]
    pub fn denied(&self, taxonomy: &Taxonomy, shares: &[f32]) -> Vec<PartIx> {
        let words = &self.vocabulary;
        let is_denied = |ix: &PartIx| {
            let part = words.part(*ix);
            let node = part.node.as_deref().and_then(|id| taxonomy.find(id));
            part.role == Role::Subject
                && node.is_some_and(|node| {
                    taxonomy.labelled_below(node).len() >= DENIABLE && shares[node.index()] < DENIED
                })
        };
        words.indices().filter(is_denied).collect()
    }

    /// Returns how strongly a photo's point speaks for parts of statements: the sum of their log-odds.
    pub(super) fn log_odds(&self, point: &[f32], parts: &[PartIx]) -> f64 {
        let scores = self.scores(point, &[]);
        parts.iter().map(|part| scores[part.index()]).sum()
    }

    /// Returns the log-odds of each part for a photo's point, in the order of the vocabulary. A part has at least
    /// those of each part below it; a denied one has none.
    fn scores(&self, point: &[f32], denied: &[PartIx]) -> Vec<f64> {
        let direction = direction(point);
        let rows = self.weights.chunks(self.width.max(1)).zip(&self.bias);
        let score = |(row, bias): (&[f32], &f32)| {
            let products = row.iter().zip(&direction);
            let sum: f64 = products.map(|(w, x)| f64::from(*w) * f64::from(*x)).sum();
            sum + f64::from(*bias)
        };
        let mut scores: Vec<f64> = rows.map(score).collect();
        for ix in denied {
            scores[ix.index()] = f64::NEG_INFINITY;
        }
        for ix in self.vocabulary.indices() {
            for above in self.vocabulary.ancestors(ix) {
                scores[above.index()] = scores[above.index()].max(scores[ix.index()]);
            }
        }
        scores
    }

    /// Returns the parts that probabilities carry, most certain first: none excludes a more certain one.
    pub(super) fn told(&self, p: &[f64]) -> Vec<PartIx> {
        let words = &self.vocabulary;
        let person = words.find(PERSON);
        // "A child" is one, and "children" are several; "one or more children" may be either.
        let needs_number =
            |ix: PartIx| words.find(SEVERAL).is_some() && !words.part(ix).has_any_number();
        let is_kind =
            |ix: PartIx| person.is_some_and(|person| ix != person && words.is_within(ix, person));
        let least = |ix: PartIx| match words.ancestors(ix).len() {
            _ if !is_kind(ix) && words.part(ix).role == Role::Subject => TOLD_OF_A_SUBJECT,
            _ if !is_kind(ix) => TOLD,
            _ if needs_number(ix) && self.number(p, ix) == Number::Any => f64::INFINITY,
            0 | 1 => TOLD_OF_A_PERSON,
            _ => TOLD_OF_A_KIND,
        };
        let mut candidates: Vec<PartIx> = words
            .indices()
            .filter(|ix| words.part(*ix).is_sayable() && p[ix.index()] >= least(*ix))
            .collect();
        // Of equally probable parts, the more specific one comes first.
        candidates.sort_by(|one, other| {
            let order = p[other.index()].total_cmp(&p[one.index()]);
            order.then_with(|| Reverse(one).cmp(&Reverse(other)))
        });
        let mut told: Vec<PartIx> = Vec::new();
        for ix in candidates {
            if !told
                .iter()
                .any(|other| words.exclude_each_other(ix, *other))
            {
                told.push(ix);
            }
        }
        told
    }

    /// Returns the most specific parts that reach their threshold, most certain first, without parts that a
    /// more certain one excludes.
    #[must_use]
    pub fn shown(&self, p: &[f64]) -> Vec<Shown> {
        let words = &self.vocabulary;
        let told = self.told(p);
        let is_implied = |ix: PartIx| {
            let mut others = told.iter().filter(|other| **other != ix);
            others.any(|other| words.is_within(*other, ix))
        };
        let shown = told.iter().filter(|ix| !is_implied(**ix)).map(|ix| Shown {
            text: words.part(*ix).text(self.number(p, *ix)),
            p: p[ix.index()],
            role: words.part(*ix).role,
            node: words.part(*ix).node.clone(),
        });
        shown.collect()
    }

    /// Returns the parts that a phrase mentions, with the probability that a photo with this point shows each;
    /// the most specific ones, most certain first.
    #[must_use]
    pub fn asked(&self, phrase: &str, point: &[f32], denied: &[PartIx]) -> Vec<Shown> {
        let words = &self.vocabulary;
        let mentions = words.mentions(phrase);
        let mut parts: Vec<PartIx> = mentions.all().iter().map(|mention| mention.part).collect();
        parts.sort_unstable();
        parts.dedup();
        let p = self.probabilities_without(point, denied);
        let is_implied = |ix: PartIx| {
            parts
                .iter()
                .any(|other| *other != ix && words.is_within(*other, ix))
        };
        let asked = parts
            .iter()
            .filter(|ix| words.part(**ix).is_sayable() && !is_implied(**ix));
        let mut asked: Vec<Shown> = asked
            .map(|ix| Shown {
                text: words.part(*ix).text(Number::One),
                p: p[ix.index()],
                role: words.part(*ix).role,
                node: words.part(*ix).node.clone(),
            })
            .collect();
        asked.sort_by(|one, other| other.p.total_cmp(&one.p));
        asked
    }

    /// Returns how many there are of a part, as far as it matters: of people, one or several; for others and
    /// where it cannot be told, any number.
    pub(super) fn number(&self, p: &[f64], ix: PartIx) -> Number {
        let words = &self.vocabulary;
        let (Some(person), Some(several)) = (words.find(PERSON), words.find(SEVERAL)) else {
            return Number::Any;
        };
        if !words.is_within(ix, person) {
            return Number::Any;
        }
        match p[several.index()] {
            p if p >= MANY => Number::Several,
            p if p <= ONE => Number::One,
            _ => Number::Any,
        }
    }
}

/// Returns a point divided by its length; a point at the origin stays there.
///
/// # Shapes
/// `[d_embed] -> [d_embed]`
#[must_use]
pub fn direction(point: &[f32]) -> Vec<f32> {
    let squares = point.iter().map(|x| f64::from(*x).powi(2));
    let length = squares.sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
    let divided = point.iter().map(|x| (f64::from(*x) / length) as f32);
    divided.collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::statements::Role;
    use crate::weights::HostTensor;

    const WORDS: &str = "role\tid\tabove\texcludes\tname\tlink\tnode\twords\n\
        subject\tperson\t\t\tperson|people|people\t\t\tperson\n\
        subject\tchild\tperson\t\tchild\t\t\tchild\n\
        place\toutdoors\t\tindoors\toutdoors\t\t\toutside\n\
        place\tindoors\t\toutdoors\tindoors\t\t\tinside\n\
        place\tsnow\toutdoors\t\tsnow\tin\t\tsnow\n\
        thing\ttable\t\t\ttable\tat\tn1\ttable\n";

    /// Returns detectors whose scores are the given log-odds for every photo.
    fn detectors(scores: [f32; 6]) -> Detectors {
        let tensor = |shape: &[usize], data: Vec<f32>| HostTensor {
            shape: shape.to_vec(),
            data,
        };
        let tensors = Tensors {
            tensors: BTreeMap::from([
                (WEIGHTS.to_owned(), tensor(&[6, 2], vec![0.0; 12])),
                (BIAS.to_owned(), tensor(&[6], scores.to_vec())),
                (POINTS.to_owned(), tensor(&[6, 2], vec![0.0; 12])),
            ]),
            ..Tensors::default()
        };
        Detectors::new(Vocabulary::from_tsv(WORDS).unwrap(), &tensors, 2).unwrap()
    }

    fn shown(scores: [f32; 6]) -> Vec<Shown> {
        let detectors = detectors(scores);
        detectors.shown(&detectors.probabilities(&[1.0, 0.0]))
    }

    fn texts(scores: [f32; 6]) -> Vec<String> {
        let shown = shown(scores);
        assert!(shown.windows(2).all(|pair| pair[0].p >= pair[1].p));
        shown.into_iter().map(|shown| shown.text).collect()
    }

    #[test]
    fn the_most_specific_parts_are_told_most_certain_first() {
        assert_eq!(
            texts([2.0, -2.0, 1.0, -3.0, 0.5, 3.0]),
            ["a table", "people", "snow"]
        );
        assert_eq!(texts([-1.0; 6]), Vec::<String>::new());
    }

    #[test]
    fn a_part_is_at_least_as_probable_as_those_below_it() {
        let p = detectors([-3.0, 2.0, -3.0, -3.0, 1.0, -3.0]).probabilities(&[0.0, 0.0]);
        assert_eq!((p[0], p[2]), (p[1], p[4]));
        assert!(p[1] > 0.88 && p[3] < 0.05);
    }

    #[test]
    fn of_parts_that_exclude_each_other_the_more_certain_is_told() {
        // Snow is outdoors, so nothing is told of the inside.
        assert_eq!(texts([-3.0, -3.0, -3.0, 0.5, 1.0, -3.0]), ["snow"]);
        assert_eq!(texts([-3.0, -3.0, -3.0, 2.0, 1.0, -3.0]), ["indoors"]);
    }

    #[test]
    fn a_kind_of_person_needs_more_evidence() {
        assert_eq!(texts([1.0, 0.5, -3.0, -3.0, -3.0, -3.0]), ["people"]);
        assert_eq!(texts([1.0, 1.5, -3.0, -3.0, -3.0, -3.0]), ["a child"]);
    }

    #[test]
    fn a_gender_needs_more_evidence_than_an_age() {
        let words = Vocabulary::everyday().unwrap();
        let count = words.parts().len();
        let zeros = |name: &str, shape: Vec<usize>| {
            let data = vec![0.0; shape.iter().product()];
            (name.to_owned(), HostTensor { shape, data })
        };
        let tensors = Tensors {
            tensors: BTreeMap::from([
                zeros(WEIGHTS, vec![count, 1]),
                zeros(BIAS, vec![count]),
                zeros(POINTS, vec![count, 1]),
            ]),
            ..Tensors::default()
        };
        let detectors = Detectors::new(words.clone(), &tensors, 1).unwrap();
        let told = |p_of_woman: f64| {
            let mut p = vec![0.0; count];
            for (id, value) in [("person", 1.0), ("adult", 0.95), ("woman", p_of_woman)] {
                p[words.find(id).unwrap().index()] = value;
            }
            let ids = detectors
                .told(&p)
                .into_iter()
                .map(|ix| words.part(ix).id.clone());
            ids.collect::<Vec<_>>()
        };
        assert_eq!(told(0.85), ["person", "adult"]);
        assert_eq!(told(0.92), ["person", "adult", "woman"]);
    }

    #[test]
    fn a_phrase_is_asked_for_by_its_parts() {
        let detectors = detectors([-3.0, 2.0, -3.0, -3.0, 1.0, -1.0]);
        let asked = detectors.asked(
            "why is there no table and child outside in the snow",
            &[1.0, 0.0],
            &[],
        );
        let asked: Vec<_> = asked
            .iter()
            .map(|part| (part.text.as_str(), part.p > 0.5))
            .collect();
        assert_eq!(
            asked,
            [("a child", true), ("snow", true), ("a table", false)]
        );
        assert!(detectors.asked("asdfgh", &[1.0, 0.0], &[]).is_empty());
    }

    #[test]
    fn a_subject_that_looks_like_none_of_its_many_labels_is_denied() {
        let words = "role\tid\tabove\texcludes\tname\tlink\tnode\twords\n\
            subject\tanimal\t\t\tanimal\t\tr\tanimal\n\
            subject\tdog\tanimal\t\tdog\t\td\tdog\n\
            subject\tbear\tanimal\t\tbear\t\tb\tbear\n";
        let tree = |dogs: usize| {
            let mut tsv =
                "synset\tnames\thypernyms\tlabelled\nr\tanimal\t\t0\nd\tdog\tr\t0\nb\tbear\tr\t1\n"
                    .to_owned();
            for i in 0..dogs {
                tsv.push_str(&format!("d{i}\tdog {i}\td\t1\n"));
            }
            Taxonomy::from_tsv(&tsv).unwrap()
        };
        let zeros = |name: &str, shape: &[usize], value: f32| {
            let data = vec![value; shape.iter().product()];
            let shape = shape.to_vec();
            (name.to_owned(), HostTensor { shape, data })
        };
        let tensors = Tensors {
            tensors: BTreeMap::from([
                zeros(WEIGHTS, &[3, 1], 0.0),
                zeros(BIAS, &[3], 2.0),
                zeros(POINTS, &[3, 1], 0.0),
            ]),
            ..Tensors::default()
        };
        let detectors = Detectors::new(Vocabulary::from_tsv(words).unwrap(), &tensors, 1).unwrap();
        let dog = detectors.vocabulary().find("dog").unwrap();
        let denied = |dogs: usize, share: f32| {
            let tree = tree(dogs);
            let mut shares = vec![1.0; tree.nodes().len()];
            shares[tree.find("d").unwrap().index()] = share;
            shares[tree.find("b").unwrap().index()] = 0.0;
            detectors.denied(&tree, &shares)
        };
        assert_eq!(denied(20, 0.005), [dog]);
        assert_eq!((denied(20, 0.03), denied(19, 0.005)), (vec![], vec![]));
        let p = detectors.probabilities_without(&[1.0], &[dog]);
        assert_eq!(p[dog.index()], 0.0);
        assert!(p[0] > 0.8, "the bear is an animal");
    }

    #[test]
    fn only_the_direction_of_a_point_counts() {
        let mut detectors = detectors([0.0; 6]);
        detectors.weights[0] = 4.0;
        let near = detectors.probabilities(&[0.1, 0.0]);
        assert_eq!(near, detectors.probabilities(&[7.0, 0.0]));
        assert!((near[0] - 1.0 / (1.0 + (-4.0_f64).exp())).abs() < 1e-6);
    }

    #[test]
    fn tensors_of_another_vocabulary_are_refused() {
        let vocabulary = || Vocabulary::from_tsv(WORDS).unwrap();
        let mut tensors = Tensors::default();
        let missing = Detectors::new(vocabulary(), &tensors, 2).unwrap_err();
        assert!(missing.to_string().contains(WEIGHTS), "{missing}");
        let mut add = |name: &str, shape: [usize; 2], value: f32| {
            let tensor = HostTensor {
                shape: shape.to_vec(),
                data: vec![value; shape[0] * shape[1]],
            };
            tensors.tensors.insert(name.to_owned(), tensor);
            Detectors::new(vocabulary(), &tensors, 2)
                .unwrap_err()
                .to_string()
        };
        assert!(add(WEIGHTS, [5, 2], 0.0).contains("[6, 2]"));
        assert!(add(WEIGHTS, [6, 2], f32::NAN).contains("finite"));
        assert!(add(WEIGHTS, [6, 2], 0.0).contains(BIAS));
    }

    #[test]
    fn what_is_shown_has_its_role_and_node() {
        let shown = shown([-3.0, -3.0, -3.0, -3.0, -3.0, 3.0]);
        assert_eq!(shown[0].role, Role::Thing);
        assert_eq!(shown[0].node.as_deref(), Some("n1"));
    }
}
