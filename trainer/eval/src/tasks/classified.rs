//! A classifier's answers next to those of the texts: teacher and student in one table.

use std::collections::BTreeMap;

use espalier_data::Coverage;
use espalier_io::exit::usage;

use crate::Points;

/// Number of classes kept per answer.
const MAX_ANSWERS: usize = 5;

/// Answers of a classifier.
pub struct Classified {
    /// The best classes of each image, at most five, as indices into the classes to choose from.
    pub ranked: Vec<Vec<usize>>,
    /// Classes to choose from that the classifier lacks. It cannot answer them, so their images
    /// count as wrong.
    missing_choices: Vec<usize>,
    /// Number of images of such classes.
    missing_images: u64,
    /// Number of classes of the classifier that are not among the choices. Their logits are left
    /// out.
    unused_classes: usize,
    /// Number of classes of the classifier.
    classes: usize,
}

/// Ranks the classes to choose from by the logits of a classifier.
///
/// `logits` has one row per image and one column per class of `labels`; `choices` are the labels to
/// choose from, ascending; `truth` is the class of each image among them.
///
/// # Errors
/// Bad usage if the classifier knows none of the classes to choose from.
pub fn classified(
    logits: &Points,
    labels: &[String],
    choices: &[String],
    truth: &[usize],
) -> anyhow::Result<Classified> {
    let column_of: BTreeMap<&String, usize> = labels.iter().zip(0..).collect();
    let columns = choices.iter().map(|label| column_of.get(label).copied());
    let columns: Vec<Option<usize>> = columns.collect();
    let missing_choices: Vec<usize> = (0..choices.len())
        .filter(|c| columns[*c].is_none())
        .collect();
    let known = choices.len() - missing_choices.len();
    if known == 0 {
        return Err(usage(format!(
            "--classifier: expected a classifier with the labels of the images, such as {}, found \
             one with others, such as {}",
            choices.first().map_or("none", String::as_str),
            labels.first().map_or("none", String::as_str)
        )));
    }
    let best = |image: usize| {
        let row = logits.row(image);
        let scored = columns.iter().zip(0..);
        let scored = scored.filter_map(|(column, choice)| Some((row[(*column)?], choice)));
        let mut scored: Vec<(f32, usize)> = scored.collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        scored.truncate(MAX_ANSWERS);
        scored.into_iter().map(|(_, choice)| choice).collect()
    };
    Ok(Classified {
        ranked: (0..logits.len()).map(best).collect(),
        missing_images: truth.iter().filter(|t| columns[**t].is_none()).count() as u64,
        missing_choices,
        unused_classes: labels.len() - known,
        classes: labels.len(),
    })
}

/// Returns the metrics of the classifier, prefixed with `classifier_`.
pub fn with_prefix(metrics: BTreeMap<String, f64>) -> impl Iterator<Item = (String, f64)> {
    let metrics = metrics.into_iter().filter(|(name, _)| name != "chance");
    metrics.map(|(name, value)| (format!("classifier_{name}"), value))
}

impl Classified {
    /// Notes the classes that the classifier lacks.
    pub fn note(&self, coverage: &mut Coverage, choices: &[String]) {
        if let Some(first) = self.missing_choices.first() {
            let count = self.missing_choices.len() as u64;
            coverage.note("class that the classifier lacks", count, &choices[*first]);
        }
        let kind = "image of a class that the classifier lacks, counted as wrong";
        coverage.note(kind, self.missing_images, "");
    }

    /// Describes the classifier's classes, for the settings.
    pub fn describe(&self) -> String {
        format!(
            "{} classes, {} of them not among the choices; lacks {}",
            self.classes,
            self.unused_classes,
            self.missing_choices.len()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(labels: &[&str]) -> Vec<String> {
        labels.iter().map(|l| (*l).to_owned()).collect()
    }

    #[test]
    fn only_classes_to_choose_from_are_answered_and_unknown_ones_are_counted() {
        let labels = owned(&["d", "b", "a"]);
        let choices = owned(&["a", "b", "c"]);
        // The best class of the second image is `d`, which is not among the choices.
        let logits = Points::new(3, vec![0.0, 2.0, 1.0, 9.0, 1.0, 3.0]);
        let found = classified(&logits, &labels, &choices, &[1, 2]).unwrap();
        assert_eq!(found.ranked, [[1, 0], [0, 1]]);
        assert_eq!(
            (found.missing_choices.as_slice(), found.missing_images),
            (&[2_usize][..], 1)
        );
        assert_eq!(
            found.describe(),
            "3 classes, 1 of them not among the choices; lacks 1"
        );
        let mut coverage = Coverage::default();
        found.note(&mut coverage, &choices);
        assert_eq!(coverage.odd["class that the classifier lacks"].example, "c");
    }

    #[test]
    fn labels_of_another_kind_are_refused() {
        let (labels, choices) = (owned(&["n01"]), owned(&["cat"]));
        let logits = Points::new(1, vec![0.0]);
        let error = classified(&logits, &labels, &choices, &[0]).err().unwrap();
        assert!(error.to_string().contains("such as cat"), "{error}");
    }
}
