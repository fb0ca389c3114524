//! Labelled images, the classes to choose from, and their answers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use espalier_core::input::ResizeMode;
use espalier_core::taxonomy::Taxonomy;

pub use super::answers::Answers;
use super::classes::{Classes, classes};
use super::classified::classified;
use super::confusions::confusions;
use crate::data::Coverage;
use crate::data::formats::open;
use crate::data::formats::splits::TEST;
use crate::eval::embedded::About;
use crate::eval::protocols::Protocol;
use crate::eval::search::{Ranked, top_k};
use crate::eval::task::{Context, TaskResult, settings};
use crate::eval::{Points, prompts};
use crate::exit::usage;

/// Requirements for labelled images.
pub const NEEDS: &str = "class folders of pictures, shards with synsets, a benchmark as it is published \
    (CIFAR, STL-10, MNIST, Food-101, CUB-200-2011, SUN397, Aircraft, DTD, pets, CLEVR, iNaturalist's \
    val.json) or a CSV filepath,class; --taxonomy for labels that are nodes of one, --class-names for \
    others";

/// Number of wrong answers shown.
const CONFUSIONS: usize = 30;

/// The images that have one of the classes, and the counts of the others.
#[derive(Default)]
struct Judged<'a> {
    /// Indices of the images.
    judged: Vec<usize>,
    /// The class of each.
    truth: Vec<usize>,
    /// Number of images without a label.
    unlabelled: u64,
    /// Number of images whose label is none of the classes.
    unknown: u64,
    /// The last such label.
    stranger: &'a str,
}

impl<'a> Judged<'a> {
    /// Looks up the label of each image.
    fn of(labels: &'a [Option<String>], classes: &Classes) -> Self {
        let mut found = Self::default();
        for (at, label) in labels.iter().enumerate() {
            match label.as_ref().map(|l| classes.labels.binary_search(l)) {
                None => found.unlabelled += 1,
                Some(Err(_)) => {
                    found.unknown += 1;
                    found.stranger = label.as_deref().unwrap_or_default();
                }
                Some(Ok(class)) => {
                    found.judged.push(at);
                    found.truth.push(class);
                }
            }
        }
        found
    }

    /// Refuses data without such images.
    fn check(&self, about: &About) -> anyhow::Result<()> {
        if self.judged.is_empty() {
            return Err(usage(format!(
                "--data: expected pictures with a label of the taxonomy or of --class-names; found \
                 {} without a label, {} with an unknown one, and {} broken",
                self.unlabelled,
                self.unknown,
                about.counts.broken()
            )));
        }
        Ok(())
    }

    /// Returns the numbers of the other images, by reason.
    fn left_out(&self, about: &About) -> BTreeMap<String, u64> {
        BTreeMap::from([
            ("without a label".to_owned(), self.unlabelled),
            ("label not in the taxonomy".to_owned(), self.unknown),
            ("broken".to_owned(), about.counts.broken()),
        ])
    }
}

/// Counts the images that are used and those that are not. `records` and `classes` are the numbers
/// in the data.
fn coverage(
    cx: &Context<'_>,
    about: &About,
    found: &Judged<'_>,
    (records, classes): (u64, usize),
) -> Coverage {
    let mut coverage = Coverage {
        expected: records,
        found: about.keys.len() as u64,
        missing: about.broken(),
        ..Coverage::default()
    };
    coverage.lose("without a label", found.unlabelled, "");
    coverage.lose(
        "label that is no class to choose from",
        found.unknown,
        found.stranger,
    );
    if let Some(protocol) = cx.dataset.and_then(Protocol::named)
        && cx.options.split == TEST
    {
        protocol.count(&mut coverage, records, classes);
    }
    coverage
}

/// Embeds the images of the data and ranks the classes for each (notation 6.1).
///
/// # Errors
/// Bad data, also if no image has a class; a failing device.
pub fn answers(cx: &Context<'_>) -> anyhow::Result<(Answers, Taxonomy)> {
    let model = cx.model()?;
    let taxonomy = open::taxonomy(cx.options.taxonomy.as_deref(), cx.data)?;
    let open::Labelled { data, split } = open::benchmark(cx.data, cx.dataset, &cx.options.split)?;
    let records = data.records();
    let resize = cx.resize(ResizeMode::CentreCrop);
    let logits = match model.classifier_labels() {
        Some(_) => Some(model.logits(Arc::clone(&data), cx.data, resize)?),
        None => None,
    };
    let pictures = model.dataset(data, cx.data, resize)?;
    let about = &pictures.about;
    let present: BTreeSet<String> = about.labels.iter().flatten().cloned().collect();
    let classes = classes(cx, &taxonomy, &present)?;

    let found = Judged::of(&about.labels, &classes);
    found.check(about)?;
    let left_out = found.left_out(about);
    let mut coverage = coverage(cx, about, &found, (records, present.len()));
    let Judged { judged, truth, .. } = found;
    let set = prompts::resolve(&cx.options.prompts, cx.dataset);
    let points = model.classes(&classes.names, set)?;
    let queries = pictures.points.select(&judged);
    let ranked = top_k(model.space()?, &queries, &points, 5);
    notes(&mut coverage, &classes, &truth, &ranked, &points);
    let classified = match (logits, model.classifier_labels()) {
        (Some(logits), Some(labels)) => {
            let logits = logits.select(&judged);
            let found = classified(&logits, labels, &classes.labels, &truth)?;
            found.note(&mut coverage, &classes.labels);
            Some(found)
        }
        _ => None,
    };
    Ok((
        Answers {
            left_out,
            prompts: set.to_owned(),
            pictures,
            classes,
            judged,
            truth,
            ranked,
            classified,
            coverage,
            split,
        },
        taxonomy,
    ))
}

/// Notes what is unusual about classes and answers.
fn notes(
    coverage: &mut Coverage,
    classes: &Classes,
    truth: &[usize],
    ranked: &Ranked,
    points: &Points,
) {
    let seen: BTreeSet<usize> = truth.iter().copied().collect();
    let never: Vec<usize> = (0..classes.labels.len())
        .filter(|c| !seen.contains(c))
        .collect();
    if let Some(first) = never.first() {
        let count = never.len() as u64;
        coverage.note("class that no picture has", count, &classes.labels[*first]);
    }
    if classes.labels.len() == 1 {
        coverage.note(
            "one class alone, every answer is right",
            1,
            &classes.labels[0],
        );
    }
    let mut names = BTreeMap::new();
    for (label, name) in classes.labels.iter().zip(&classes.names) {
        if names.insert(name, label).is_some() {
            coverage.note("class with the name of another", 1, label);
        }
    }
    let tied = |i: usize| ranked.scores(i).first() == ranked.scores(i).get(1);
    let ties = (0..ranked.len())
        .filter(|i| points.len() > 1 && tied(*i))
        .count();
    coverage.note(
        "picture whose two best classes score the same",
        ties as u64,
        "",
    );
}

impl Answers {
    /// The ranked classes of each judged image.
    #[must_use]
    pub fn answers(&self) -> Vec<Vec<usize>> {
        crate::eval::zero_shot::answers(&self.ranked)
    }

    /// The result of a task with these metrics; `judged` is the number of answers evaluated.
    #[must_use]
    pub fn outcome(
        self,
        cx: &Context<'_>,
        taxonomy: &Taxonomy,
        judged: usize,
        metrics: BTreeMap<String, f64>,
    ) -> TaskResult {
        let mut settings = settings([("resize", cx.resize_word(ResizeMode::CentreCrop))]);
        let classified = self.classified.as_ref();
        settings.extend(classified.map(|c| ("classifier".to_owned(), c.words())));
        settings.extend(self.split.clone().map(|split| ("split".to_owned(), split)));
        TaskResult {
            n: judged,
            classes: self.classes.labels.len(),
            metrics,
            confusions: confusions(&self, taxonomy, CONFUSIONS),
            settings,
            prompts: self.prompts,
            left_out: self.left_out,
            coverage: Some(self.coverage),
            ..TaskResult::default()
        }
    }
}
