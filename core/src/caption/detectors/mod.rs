//! What a photo shows beside the one thing that the taxonomy names: people, doings, places, things.
//!
//! A bundle may carry a detector for each part of a vocabulary of statements: a logistic regression on
//! the direction of a photo's point. Unlike the labels of the taxonomy, which exclude each other, parts
//! hold together ("people", "a table", "a restaurant"), so each has a probability of its own: that at
//! least one of several people would mention it.

mod confirm;

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

/// Minimum number of labels of a subject that a taxonomy may deny.
const MIN_LABELS: usize = 20;

/// Share of these labels, all together, below which the taxonomy denies the subject.
const MIN_SHARE: f32 = 0.02;

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
            let values = files::values(tensors, name, shape)?;
            if values.iter().all(|value| value.is_finite()) {
                return Ok(values.to_vec());
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

    /// Returns the probability of each part for a photo's point, in the order of the vocabulary; 0 for
    /// the `denied` parts. A part is at least as probable as each part below it.
    ///
    /// # Shapes
    /// `[d_embed] -> [parts]`
    #[must_use]
    pub fn probabilities(&self, point: &[f32], denied: &[PartIx]) -> Vec<f64> {
        let scores = self.scores(point, denied).into_iter();
        scores.map(|score| 1.0 / (1.0 + (-score).exp())).collect()
    }

    /// Returns the subjects that a photo does not show according to a taxonomy: it has many labels of them, and all
    /// together have a small share. The detector alone may take a panda for a dog. `shares` are those of the nodes.
    #[must_use]
    pub(super) fn denied(&self, taxonomy: &Taxonomy, shares: &[f32]) -> Vec<PartIx> {
        let words = &self.vocabulary;
        let is_denied = |ix: &PartIx| {
            let part = words.part(*ix);
            let node = part.node.as_deref().and_then(|id| taxonomy.find(id));
            part.role == Role::Subject
                && node.is_some_and(|node| {
                    taxonomy.labelled_below(node).len() >= MIN_LABELS
                        && shares[node.index()] < MIN_SHARE
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
    /// those of each part below it; those of a denied part are negative infinity.
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
            |ix: PartIx| words.find(SEVERAL).is_some() && !words.part(ix).has_form_for_any_number();
        let is_kind =
            |ix: PartIx| person.is_some_and(|person| ix != person && words.is_within(ix, person));
        let least = |ix: PartIx| match words.ancestors(ix).len() {
            _ if words.part(ix).role != Role::Subject => TOLD,
            _ if !is_kind(ix) => TOLD_OF_A_SUBJECT,
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
        let parts = self.most_specific(self.told(p)).into_iter();
        let shown = parts.map(|ix| self.shown_part(ix, self.number(p, ix), p));
        shown.collect()
    }

    /// Returns the parts of a list that are above no other one of it.
    fn most_specific(&self, mut parts: Vec<PartIx>) -> Vec<PartIx> {
        let all = parts.clone();
        let is_above = |ix: PartIx, other: PartIx| self.vocabulary.ancestors(other).contains(&ix);
        parts.retain(|ix| !all.iter().any(|other| is_above(*ix, *other)));
        parts
    }

    fn shown_part(&self, ix: PartIx, number: Number, p: &[f64]) -> Shown {
        let part = self.vocabulary.part(ix);
        Shown {
            text: part.text(number),
            p: p[ix.index()],
            role: part.role,
            node: part.node.clone(),
        }
    }

    /// Returns the parts that a phrase mentions, with their probabilities; the most specific ones, most certain first.
    #[must_use]
    pub(super) fn asked(&self, phrase: &str, p: &[f64]) -> Vec<Shown> {
        let words = &self.vocabulary;
        let parts = self.most_specific(words.mentions(phrase).distinct());
        let parts = parts.into_iter().filter(|ix| words.part(*ix).is_sayable());
        let asked = parts.map(|ix| self.shown_part(ix, Number::One, p));
        let mut asked: Vec<Shown> = asked.collect();
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
pub(super) mod tests;
