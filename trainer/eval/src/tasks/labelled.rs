//! Labelled images, the classes to choose from, and their answers.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use espalier_core::input::ResizeMode;
use espalier_data::Coverage;
use espalier_data::formats::open;
use espalier_data::formats::splits::TEST;
use espalier_io::exit::usage;

use super::answers::Answers;
use super::classes::{Classes, classes};
use super::classified::classified;
use super::node_labels::node_labels;
use crate::embedded::ImageMetadata;
use crate::embedder::Embedder;
use crate::protocols::Protocol;
use crate::search::Ranked;
use crate::task::{Context, DEFAULT, named};
use crate::{Points, prompts};

/// Requirements for labelled images.
pub const NEEDS: &str = "class folders of images, shards with synsets, WebDataset tars with .cls members (also CLIP_benchmark's \
    folders), a benchmark in its published format \
    (CIFAR, STL-10, MNIST, Food-101, CUB-200-2011, SUN397, Aircraft, DTD, pets, CLEVR, iNaturalist's \
    val.json) or a CSV filepath,class; --taxonomy for labels that are nodes, --class-names for other \
    labels";

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
    ///
    /// # Errors
    /// Bad usage if no image has one of the classes.
    fn of(
        labels: &'a [Option<String>],
        classes: &Classes,
        about: &ImageMetadata,
    ) -> anyhow::Result<Self> {
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
        if found.rows.is_empty() {
            return Err(usage(format!(
                "--data: expected images with a label of the taxonomy or of --class-names, found \
                 {} without a label, {} with an unknown label and {} broken",
                found.unlabelled,
                found.unknown,
                about.counts.broken()
            )));
        }
        Ok(found)
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
    let cause = "label that is no class to choose from";
    coverage.lose(cause, found.unknown, found.unknown_example);
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
pub fn answers(cx: &Context<'_, '_>) -> anyhow::Result<Answers> {
    let model = cx.model()?;
    let (taxonomy, source) = cx.taxonomy(cx.data)?;
    let open::Labelled { data, split } = open::benchmark(cx.data, cx.dataset, &cx.options.split)?;
    let records = data.records();
    let skipped = data.left_out();
    let resize = cx.resize(ResizeMode::CentreCrop);
    let logits = |_| model.logits(Arc::clone(&data), cx.data, resize);
    let logits = model.classifier_labels().map(logits).transpose()?;
    let images = model.dataset(data, cx.data, resize)?;
    let about = &images.about;
    let labels = match source {
        DEFAULT => about.labels.clone(),
        _ => node_labels(&taxonomy, &about.labels),
    };
    let present: BTreeSet<String> = labels.iter().flatten().cloned().collect();
    let classes = classes(cx, &taxonomy, &present)?;

    let found = LabelledImages::of(&labels, &classes, about)?;
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
    note_unusual(&mut coverage, &classes, &truth, &ranked);
    let classified = match (logits, model.classifier_labels()) {
        (Some(logits), Some(labels)) => {
            let logits = logits.select(&evaluated);
            let found = classified(&logits, labels, &classes.labels, &truth)?;
            found.note(&mut coverage, &classes.labels);
            Some(found)
        }
        _ => None,
    };
    Ok(Answers {
        images,
        classes,
        evaluated,
        truth,
        ranked,
        classified,
        left_out,
        coverage,
        prompts: set.to_owned(),
        split,
        taxonomy,
        source,
    })
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
fn note_unusual(coverage: &mut Coverage, classes: &Classes, truth: &[usize], ranked: &Ranked) {
    let seen: BTreeSet<usize> = truth.iter().copied().collect();
    for unseen in (0..classes.labels.len()).filter(|class| !seen.contains(class)) {
        coverage.note("class that no image has", 1, &classes.labels[unseen]);
    }
    if let [label] = classes.labels.as_slice() {
        coverage.note("one class alone, every answer is right", 1, label);
    }
    let mut names = BTreeMap::new();
    for (label, name) in classes.labels.iter().zip(&classes.names) {
        if names.insert(name, label).is_some() {
            coverage.note("class with the name of another", 1, label);
        }
    }
    let is_tied = |image: &usize| matches!(ranked.scores(*image), [a, b, ..] if a == b);
    let ties = (0..ranked.len()).filter(is_tied).count() as u64;
    coverage.note("image whose two best classes score the same", ties, "");
}
