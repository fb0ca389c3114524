//! Soft targets of a step: the probabilities that a classifier assigns to the labels.
//!
//! The student learns the teacher's distribution over the labels (Hinton et al. 2015, "Distilling
//! the Knowledge in a Neural Network"). Encoding the texts of all labels at every step would cost
//! more than the rest of the step. Both distributions are therefore computed over a subset of
//! labels: those that the teacher considers most likely for an image of the batch, and random
//! others (a sampled softmax).

use std::collections::HashMap;
use std::iter;

use espalier_core::taxonomy::{NodeIx, Taxonomy};

use crate::batches::feature_rows::Features;

/// Fraction of the labels of a step chosen by the teacher; the others are random.
pub const TEACHER_FRACTION: (usize, usize) = (3, 4);

/// Outputs of the teacher for a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct TeacherOutputs {
    /// `[rows, classes]`: logits of the images, then of their crops.
    pub logits: Vec<f32>,
    /// Features sampled from the classifier, and its logits for them.
    pub drawn: Option<(Features, Vec<f32>)>,
}

/// Soft targets over the labels of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct DistillBatch {
    /// Number of labels that the teacher knows; they come first among the labels of the step.
    pub labels: usize,
    /// `[rows, labels]`, each row sums to 1: images, then crops.
    pub targets: Vec<f32>,
    /// Features sampled from the classifier, and their targets.
    pub drawn: Option<(Features, Vec<f32>)>,
}

/// Mapping between the labels of a taxonomy and the classes of a teacher.
#[derive(Clone, Debug)]
pub struct Distill {
    /// Class of each label of the taxonomy; `None` where the teacher does not know it.
    class_of: Vec<Option<usize>>,
    classes: usize,
    temperature: f32,
    /// Maximum number of labels per step; 0 for all.
    max_labels: usize,
}

/// Returns the softmax of selected logits of a row at a temperature: the distribution over all
/// classes, renormalised over the selected ones.
fn softmax(row: &[f32], classes: &[usize], temperature: f32) -> Vec<f32> {
    let logits = classes.iter().map(|class| row[*class] / temperature);
    let largest = logits.clone().fold(f32::NEG_INFINITY, f32::max);
    let powers: Vec<f32> = logits.map(|logit| (logit - largest).exp()).collect();
    let sum: f32 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}

impl Distill {
    /// Matches the labels of a taxonomy with the classes of a teacher by synset id. Also returns a
    /// message about unmatched labels or classes, if there are any.
    ///
    /// # Errors
    /// If fewer than two labels match; the error is a message.
    pub fn new(
        taxonomy: &Taxonomy,
        classes: &[String],
        temperature: f64,
        max_labels: usize,
    ) -> Result<(Self, Option<String>), String> {
        let class_index: HashMap<&String, usize> = classes.iter().zip(0..).collect();
        let labels = taxonomy.labelled().iter();
        let class = |ix: &NodeIx| class_index.get(&taxonomy.node(*ix).id).copied();
        let class_of: Vec<_> = labels.map(class).collect();
        let matched = class_of.iter().flatten().count();
        if matched < 2 {
            return Err(format!(
                "expected labels of the taxonomy among the {} classes of the classifier, found \
                 {matched}; both are matched by synset id, such as `{}`",
                classes.len(),
                classes.first().map_or("", String::as_str)
            ));
        }
        let unknown = class_of.len() - matched;
        let without_label = classes.len() - matched;
        let message = (unknown + without_label > 0).then(|| {
            format!(
                "distillation over {matched} labels; skipped: {unknown} labels that the classifier \
                 does not know, {without_label} classes that are not labels of the taxonomy"
            )
        });
        let distill = Self {
            class_of,
            classes: classes.len(),
            temperature: temperature as f32,
            max_labels,
        };
        Ok((distill, message))
    }

    /// Returns whether the teacher knows a label.
    pub fn knows(&self, label: usize) -> bool {
        self.class_of[label].is_some()
    }

    /// Returns the maximum number of labels per step, of `count` labels.
    pub fn max_labels(&self, count: usize) -> usize {
        match self.max_labels {
            0 => count,
            limit => limit.min(count),
        }
    }

    /// Returns the labels that the teacher chooses for a step of `limit` labels: those with the
    /// largest probability in any row, in descending order.
    pub fn likely(&self, teacher_outputs: &TeacherOutputs, limit: usize) -> Vec<usize> {
        let known: Vec<(usize, usize)> = (0..)
            .zip(&self.class_of)
            .filter_map(|(label, class)| Some((label, (*class)?)))
            .collect();
        let classes: Vec<usize> = known.iter().map(|(_, class)| *class).collect();
        let mut largest = vec![0.0_f32; known.len()];
        let drawn = teacher_outputs.drawn.iter().map(|(_, logits)| logits);
        let all = iter::once(&teacher_outputs.logits).chain(drawn);
        for row in all.flat_map(|logits| logits.chunks_exact(self.classes)) {
            let shares = softmax(row, &classes, self.temperature);
            for (largest, share) in largest.iter_mut().zip(shares) {
                *largest = largest.max(share);
            }
        }
        let mut order: Vec<usize> = (0..known.len()).collect();
        order.sort_by(|a, b| largest[*b].total_cmp(&largest[*a]));
        order.truncate(limit * TEACHER_FRACTION.0 / TEACHER_FRACTION.1);
        order.into_iter().map(|at| known[at].0).collect()
    }

    /// Computes the targets over the labels of a step; labels that the teacher knows come first.
    pub fn targets(&self, teacher_outputs: TeacherOutputs, chosen: &[usize]) -> DistillBatch {
        let classes: Vec<usize> = chosen.iter().map_while(|at| self.class_of[*at]).collect();
        let targets = |logits: &[f32]| -> Vec<f32> {
            let rows = logits.chunks_exact(self.classes);
            rows.flat_map(|row| softmax(row, &classes, self.temperature))
                .collect()
        };
        DistillBatch {
            labels: classes.len(),
            targets: targets(&teacher_outputs.logits),
            drawn: teacher_outputs.drawn.map(|(features, logits)| {
                let targets = targets(&logits);
                (features, targets)
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "synset\tnames\thypernyms\tlabelled\nr\tall\t\t0\na\tape\tr\t1\n\
                        b\tbee\tr\t1\nc\tcat\tr\t1\nd\tdog\tr\t1\n";

    /// The classifier has the classes `c`, `a`, `b` and one that is not a label, in this order.
    fn distill(temperature: f64, max_labels: usize) -> Distill {
        let taxonomy = Taxonomy::from_tsv(TREE).unwrap();
        let classes = ["c", "a", "x", "b"].map(str::to_owned);
        let (distill, message) =
            Distill::new(&taxonomy, &classes, temperature, max_labels).unwrap();
        let message = message.unwrap();
        assert!(message.contains("3 labels") && message.contains("1 labels that the classifier"));
        assert!(message.contains("1 classes"));
        distill
    }

    fn teacher_outputs(logits: &[f32]) -> TeacherOutputs {
        TeacherOutputs {
            logits: logits.to_vec(),
            drawn: None,
        }
    }

    fn place(id: &str) -> usize {
        let taxonomy = Taxonomy::from_tsv(TREE).unwrap();
        let mut labels = taxonomy.labelled().iter();
        labels.position(|ix| taxonomy.node(*ix).id == id).unwrap()
    }

    #[test]
    fn targets_are_renormalised_over_the_chosen_labels() {
        let ln = |v: f32| v.ln();
        // Probabilities .5 of c, .3 of a, .1 of the class that is not a label, .1 of b.
        let row = [ln(0.5), ln(0.3), ln(0.1), ln(0.1)];
        let chosen = [place("a"), place("b"), place("d")];
        let found = distill(1.0, 0).targets(teacher_outputs(&row), &chosen);
        assert_eq!(found.labels, 2);
        assert!((found.targets[0] - 0.75).abs() < 1e-6);
        assert!((found.targets[1] - 0.25).abs() < 1e-6);
        // Large logits do not overflow.
        let shifted = row.map(|logit| logit + 500.0);
        let found = distill(1.0, 0).targets(teacher_outputs(&shifted), &chosen);
        let found = found.targets;
        assert!((found[0] - 0.75).abs() < 1e-3, "{found:?}");
        // At temperature 2, the probabilities are in the ratio of their square roots.
        let soft = distill(2.0, 0).targets(teacher_outputs(&row), &chosen);
        let soft = soft.targets;
        assert!((soft[0] / soft[1] - 3.0_f32.sqrt()).abs() < 1e-5);
    }

    #[test]
    fn the_teacher_chooses_the_labels_that_some_row_is_likely_to_show() {
        let rows = teacher_outputs(&[9.0, 0.0, 0.0, 0.0, 0.0, 0.0, 20.0, 9.0]);
        let distill = |max_labels| distill(1.0, max_labels);
        let likely = |limit| distill(0).likely(&rows, limit);
        assert_eq!(likely(4)[..2], [place("b"), place("c")]);
        assert_eq!(likely(4).len(), 3, "three quarters of four");
        assert_eq!(likely(2), [place("b")]);
        assert!(likely(1).is_empty());
        let known = ["a", "b", "c", "d"].map(|id| distill(0).knows(place(id)));
        assert_eq!(known, [true, true, true, false]);
        assert_eq!([0, 5].map(|most| distill(most).max_labels(9)), [9, 5]);
    }

    #[test]
    fn a_classifier_of_other_labels_is_refused() {
        let taxonomy = Taxonomy::from_tsv(TREE).unwrap();
        let error = Distill::new(&taxonomy, &["x".to_owned()], 1.0, 0).unwrap_err();
        let expected = "matched by synset id, such as `x`";
        assert!(error.contains(expected), "{error}");
    }
}
