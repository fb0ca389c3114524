//! Labelled images, the classes to choose from, and their answers.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use espalier_core::input::ResizeMode;
use espalier_core::taxonomy::Taxonomy;

pub use super::answers::Answers;
use espalier_data::Coverage;
use espalier_data::formats::open;
use espalier_data::formats::splits::TEST;
use espalier_io::exit::usage;

use super::classes::{Classes, classes};
use super::classified::classified;
use super::confusions::confusions;
use super::node_labels::node_labels;
use crate::embedded::ImageMetadata;
use crate::embedder::Embedder;
use crate::protocols::Protocol;
use crate::search::Ranked;
use crate::task::{Context, DEFAULT, TaskResult, named};
use crate::{Points, prompts};

/// Requirements for labelled images.
pub const NEEDS: &str = "class folders of images, shards with synsets, WebDataset tars with .cls members (also CLIP_benchmark's \
    folders), a benchmark in its published format \
    (CIFAR, STL-10, MNIST, Food-101, CUB-200-2011, SUN397, Aircraft, DTD, pets, CLEVR, iNaturalist's \
    val.json) or a CSV filepath,class; --taxonomy for labels that are nodes, --class-names for other \
    labels";

/// Number of wrong answers shown.
const CONFUSIONS: usize = 30;

/// The images that have one of the classes, and the counts of the others.
#[derive(Default)]
struct LabelledImages<'a> {
    /// Indices of the images.
    rows: Vec<usize>,
    /// The class of each.
    truth: Vec<usize>,
    /// Number of images without a label.
    unlabelled: u64,
    /// Number of images whose label is none of the classes.
    unknown: u64,
    /// The last such label.
    unknown_example: &'a str,
}

impl<'a> LabelledImages<'a> {
    /// Looks up the label of each image.
    fn of(labels: &'a [Option<String>], classes: &Classes) -> Self {
        let mut found = Self::default();
        for (at, label) in labels.iter().enumerate() {
            match label.as_ref().map(|l| classes.labels.binary_search(l)) {
                None => found.unlabelled += 1,
                Some(Err(_)) => {
                    found.unknown += 1;
                    found.unknown_example = label.as_deref().unwrap_or_default();
                }
                Some(Ok(class)) => {
                    found.rows.push(at);
                    found.truth.push(class);
                }
            }
        }
        found
    }

    /// Refuses data without such images.
    fn check(&self, about: &ImageMetadata) -> anyhow::Result<()> {
        if self.rows.is_empty() {
            return Err(usage(format!(
                "--data: expected images with a label of the taxonomy or of --class-names, found \
                 {} without a label, {} with an unknown label and {} broken",
                self.unlabelled,
                self.unknown,
                about.counts.broken()
            )));
        }
        Ok(())
    }

    /// Returns the numbers of the other images, by reason.
    fn left_out(&self, about: &ImageMetadata) -> BTreeMap<String, u64> {
        named([
            ("without a label", self.unlabelled),
            ("label not in the taxonomy", self.unknown),
            ("broken", about.counts.broken()),
        ])
    }
}

/// Counts the images that are used and those that are not. `records` and `classes` are the numbers
/// in the data.
fn coverage(
    cx: &Context<'_, '_>,
    about: &ImageMetadata,
    found: &LabelledImages<'_>,
    (records, classes): (u64, usize),
) -> Coverage {
    let mut coverage = about.coverage(records, about.keys.len());
    coverage.lose("without a label", found.unlabelled, "");
    coverage.lose(
        "label that is no class to choose from",
        found.unknown,
        found.unknown_example,
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
pub fn answers(cx: &Context<'_, '_>) -> anyhow::Result<(Answers, Taxonomy)> {
    let model = cx.model()?;
    let (taxonomy, source) = cx.taxonomy(cx.data)?;
    let open::Labelled { data, split } = open::benchmark(cx.data, cx.dataset, &cx.options.split)?;
    let records = data.records();
    let skipped = data.left_out();
    let resize = cx.resize(ResizeMode::CentreCrop);
    let logits = match model.classifier_labels() {
        Some(_) => Some(model.logits(Arc::clone(&data), cx.data, resize)?),
        None => None,
    };
    let images = model.dataset(data, cx.data, resize)?;
    let about = &images.about;
    let labels = match source {
        DEFAULT => about.labels.clone(),
        _ => node_labels(&taxonomy, &about.labels),
    };
    let present: BTreeSet<String> = labels.iter().flatten().cloned().collect();
    let classes = classes(cx, &taxonomy, &present)?;

    let found = LabelledImages::of(&labels, &classes);
    found.check(about)?;
    let left_out = found.left_out(about);
    let mut coverage = coverage(cx, about, &found, (records, present.len()));
    coverage.skipped = skipped;
    let LabelledImages {
        rows: evaluated,
        truth,
        ..
    } = found;
    let (set, points) = class_points(cx, model, (&classes.labels, &classes.names))?;
    let queries = images.points.select(&evaluated);
    let ranked = cx.texts_of(model.space()?, &queries, &points, 5);
    note_unusual(&mut coverage, &classes, &truth, &ranked, &points);
    let classified = match (logits, model.classifier_labels()) {
        (Some(logits), Some(labels)) => {
            let logits = logits.select(&evaluated);
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
            images,
            classes,
            evaluated,
            truth,
            ranked,
            classified,
            coverage,
            split,
            taxonomy: source,
        },
        taxonomy,
    ))
}

/// Returns the points of the classes and the name of their prompts. A bundle is judged with the points
/// that it stores and the page uses, unless other prompts or names are asked for.
pub(super) fn class_points<'a>(
    cx: &'a Context<'_, '_>,
    model: &Embedder<'_>,
    (labels, names): (&[String], &[String]),
) -> anyhow::Result<(&'a str, Rc<Points>)> {
    let options = &cx.options;
    let as_shipped =
        options.prompts == prompts::AUTO && options.class_names.is_none() && cx.dataset.is_none();
    if as_shipped && let Some(points) = model.stored_classes(labels) {
        return Ok((prompts::STORED, Rc::new(points)));
    }
    let set = prompts::resolve(&options.prompts, cx.dataset);
    Ok((set, model.classes(names, set)?))
}

/// Notes what is unusual about classes and answers.
fn note_unusual(
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
        coverage.note("class that no image has", count, &classes.labels[*first]);
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
        "image whose two best classes score the same",
        ties as u64,
        "",
    );
}

impl Answers {
    /// Returns the result of a task with these metrics; `evaluated` is the number of answers
    /// evaluated.
    pub fn outcome(
        self,
        cx: &Context<'_, '_>,
        taxonomy: &Taxonomy,
        evaluated: usize,
        metrics: BTreeMap<String, f64>,
    ) -> TaskResult {
        let mut settings = named([("resize", cx.resize_name(ResizeMode::CentreCrop))]);
        let classified = self.classified.as_ref();
        settings.extend(classified.map(|c| ("classifier".to_owned(), c.describe())));
        let of_classes = self.classes.nodes.iter().any(Option::is_some);
        settings.extend(of_classes.then(|| ("taxonomy".to_owned(), self.taxonomy.to_owned())));
        settings.extend(self.split.clone().map(|split| ("split".to_owned(), split)));
        TaskResult {
            n: evaluated,
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
