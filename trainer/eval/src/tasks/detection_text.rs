//! Classification of given boxes by the texts of all labels, and retrieval of each label's boxes
//! among all boxes (notation 6.8).
//!
//! A given box stands for a detection with perfect localisation, so average precision measures
//! recognition alone. A box's score for a label is the softmax of the model's logits over the
//! labels to choose from.

use std::collections::{BTreeMap, BTreeSet};

use espalier_core::input::ResizeMode;
use espalier_data::Coverage;
use espalier_data::formats::coco_boxes;
use espalier_data::formats::coco_split::{BASE, NOVEL};
use espalier_io::exit::usage;
use rayon::prelude::*;

use super::scenes::Boxes;
use crate::metrics::average_precision::average_precision;
use crate::metrics::summary::mean;
use crate::search::best;
use crate::task::{Context, TaskResult, named};
use crate::{Points, prompts, zero_shot};

/// Logits of boxes for labels, and the label of each box.
struct Logits {
    rows: Vec<Vec<f64>>,
    truth: Vec<usize>,
}

impl Logits {
    /// Returns the mean average precision over `labels` if the answers are chosen from `choices`,
    /// on the boxes whose label is one of the choices; `None` if no box has a label of `labels`.
    fn mean_precision(&self, labels: &[usize], choices: &[usize]) -> Option<f64> {
        let evaluated: Vec<usize> = (0..self.truth.len())
            .filter(|i| choices.contains(&self.truth[*i]))
            .collect();
        let probabilities: Vec<Vec<f64>> = evaluated
            .par_iter()
            .map(|i| softmax(choices.iter().map(|label| self.rows[*i][*label])))
            .collect();
        let each = labels.iter().filter_map(|label| {
            let column = choices.iter().position(|l| l == label)?;
            let items = evaluated.iter().zip(&probabilities);
            let items = items.map(|(i, p)| (p[column], self.truth[*i] == *label));
            average_precision(items.collect())
        });
        let each: Vec<f64> = each.collect();
        (!each.is_empty()).then(|| mean(each))
    }

    /// Returns the labels of each box, best first.
    fn ranked(&self) -> Vec<Vec<usize>> {
        let rows = self.rows.iter();
        rows.map(|row| best(row, row.len())).collect()
    }
}

fn softmax(logits: impl Iterator<Item = f64>) -> Vec<f64> {
    let logits: Vec<f64> = logits.collect();
    let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let each: Vec<f64> = logits.iter().map(|l| (l - top).exp()).collect();
    let sum: f64 = each.iter().sum();
    each.into_iter().map(|e| e / sum).collect()
}

/// Returns the indices of names in a sorted list; absent names are skipped.
fn indices(names: &[&str], sorted: &[String]) -> Vec<usize> {
    let index = |name: &&str| sorted.binary_search_by(|l| l.as_str().cmp(name)).ok();
    names.iter().filter_map(index).collect()
}

/// Returns whether the data is COCO's, so that COCO's split applies.
fn has_split(cx: &Context<'_, '_>) -> bool {
    cx.data.len() == 1 && coco_boxes::matches(&cx.data[0])
}

/// Returns the labels to choose from, ascending: all of the split, with or without a box, or those
/// that the boxes in `rows` have.
fn choices(names: &[String], rows: &[usize], split: bool) -> Vec<String> {
    if split {
        let all: BTreeSet<&str> = BASE.into_iter().chain(NOVEL).collect();
        return all.into_iter().map(str::to_owned).collect();
    }
    let labels: BTreeSet<&String> = rows.iter().map(|i| &names[*i]).collect();
    labels.into_iter().cloned().collect()
}

/// Returns the accuracy and mean average precision; with a split also the precision of its parts.
fn metrics(logits: &Logits, labels: &[String], split: bool) -> BTreeMap<String, f64> {
    let mut metrics = zero_shot::metrics(&logits.ranked(), &logits.truth, labels.len());
    let all: Vec<usize> = (0..labels.len()).collect();
    let mut add = |name: &str, value: Option<f64>| {
        metrics.extend(value.map(|value| (name.to_owned(), value)));
    };
    add("ap", logits.mean_precision(&all, &all));
    if split {
        let (base, novel) = (indices(&BASE, labels), indices(&NOVEL, labels));
        add("ap_base", logits.mean_precision(&base, &all));
        add("ap_novel", logits.mean_precision(&novel, &all));
        add(
            "ap_novel_among_novel",
            logits.mean_precision(&novel, &novel),
        );
    }
    metrics
}

/// Notes the labels that no box has.
fn note_unseen(coverage: &mut Coverage, truth: &[usize], labels: &[String]) {
    let seen: BTreeSet<usize> = truth.iter().copied().collect();
    let kind = "label that no box has, without a precision";
    for unseen in (0..labels.len()).filter(|label| !seen.contains(label)) {
        coverage.note(kind, 1, &labels[unseen]);
    }
}

pub(super) fn run(cx: &Context<'_, '_>) -> anyhow::Result<TaskResult> {
    let model = cx.model()?;
    let mut boxes = Boxes::open(cx, cx.data, "--data")?;
    // Uses the phrase, which is a name; the label may be an id.
    let names = &boxes.parts.about.captions;
    let split = has_split(cx);
    let known = |name: &str| BASE.contains(&name) || NOVEL.contains(&name);
    let rows: Vec<usize> = (0..names.len())
        .filter(|i| !split || known(&names[*i]))
        .collect();
    let other = (names.len() - rows.len()) as u64;
    if rows.is_empty() {
        return Err(usage(format!(
            "--data: expected boxes of the 65 categories of COCO's split, found {other} of others"
        )));
    }
    boxes
        .coverage
        .lose("box of a category outside of the split", other, "");
    let labels = choices(names, &rows, split);
    if labels.len() == 1 {
        let kind = "one label alone, every answer is right";
        boxes.coverage.note(kind, 1, &labels[0]);
    }
    let set = prompts::resolve(&cx.options.prompts, cx.dataset);
    let texts = model.classes(&labels, set)?;
    let (space, scale) = (model.space()?, model.logit_scale());
    let (points, texts): (&Points, &Points) = (&boxes.parts.points, &texts);
    let row = |i: &usize| -> Vec<f64> {
        let logit = |text: &[f32]| scale * space.logit(points.row(*i), text);
        texts.rows().map(logit).collect()
    };
    let truth = |i: &usize| labels.binary_search(&names[*i]).unwrap_or_default();
    let logits = Logits {
        rows: rows.par_iter().map(row).collect(),
        truth: rows.iter().map(truth).collect(),
    };
    let metrics = metrics(&logits, &labels, split);
    note_unseen(&mut boxes.coverage, &logits.truth, &labels);
    Ok(TaskResult {
        dataset: split.then(|| "coco".to_owned()),
        n: rows.len(),
        classes: labels.len(),
        prompts: set.to_owned(),
        left_out: named([("category outside of the split", other)]),
        settings: named([
            ("resize", cx.resize_name(ResizeMode::WhitePad)),
            ("boxes", "given".to_owned()),
        ]),
        coverage: Some(boxes.coverage),
        metrics,
        ..TaskResult::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precision_depends_on_the_choices() {
        // Labels 0 (base), 1 and 2 (novel). Box 1 is assigned label 0 unless only novel labels
        // count.
        let ln = f64::ln;
        let logits = Logits {
            rows: vec![
                vec![ln(8.0), ln(1.0), ln(1.0)],
                vec![ln(6.0), ln(3.0), ln(1.0)],
                vec![ln(1.0), ln(5.0), ln(4.0)],
            ],
            truth: vec![0, 1, 2],
        };
        let close = |found: Option<f64>, known: f64| {
            assert!(
                (found.unwrap_or(f64::NAN) - known).abs() < 1e-12,
                "{found:?}"
            );
        };
        // Label 1: box 2 (0.5) before box 1 (0.3): half right. Label 2: box 2 first.
        close(logits.mean_precision(&[1, 2], &[0, 1, 2]), 0.75);
        // Among 1 and 2, box 1 has 3/4 for label 1 and box 2 has 5/9.
        close(logits.mean_precision(&[1, 2], &[1, 2]), 1.0);
        close(logits.mean_precision(&[0], &[0, 1, 2]), 1.0);
        assert_eq!(logits.mean_precision(&[], &[0, 1]), None);
        assert_eq!(logits.ranked()[1], [0, 1, 2]);
    }
}
