//! Evaluates where paths in the taxonomy stop.

use std::collections::BTreeMap;

use espalier_core::caption::{Calibration, Classifier};
use espalier_core::input::ResizeMode;
use espalier_core::taxonomy::{NodeIx, Taxonomy};
use espalier_data::Coverage;
use espalier_data::formats::registry::{self, Need};
use espalier_io::exit::usage;

use super::labelled::class_points;
use super::node_labels::node_labels;
use crate::Points;
use crate::embed::names;
use crate::embedded::Embedded;
use crate::stop::{self, KnownImage};
use crate::stop_fit;
use crate::task::{Context, Task, TaskResult, named};

/// Probabilities of paths, and where they stop for known and unknown labels.
pub const TASK: Task = Task {
    name: "stop",
    about: "where paths in the taxonomy stop: how often the node is right, its reported probability, risk by \
     coverage, and the same for unknown labels",
    needs: "images with labels of a taxonomy; its nodes that are not labels, and the labels that --hold-out \
     removes, are unknown to the model",
    benchmarks: &[],
    run,
};

/// Returns the taxonomy without a share of its labels, spread evenly over its file.
fn hold_out(taxonomy: Taxonomy, share: f64) -> Taxonomy {
    let labels = taxonomy.labelled().to_vec();
    let is_held_out = |at: usize| ((at + 1) as f64 * share).floor() > (at as f64 * share).floor();
    let remains = |ix: NodeIx| labels.binary_search(&ix).is_ok_and(|at| !is_held_out(at));
    taxonomy.with_labels(remains)
}

/// Images by what the model knows of their labels.
#[derive(Default)]
struct Images<'a> {
    /// Images of labels to choose from.
    known: Vec<KnownImage<'a>>,
    /// Images of other nodes.
    unknown: Vec<KnownImage<'a>>,
    /// Number of images whose label is no node.
    elsewhere: u64,
}

impl<'a> Images<'a> {
    fn of(embedded: &'a Embedded, labels: &[Option<String>], taxonomy: &Taxonomy) -> Self {
        let mut found = Self::default();
        for (at, label) in labels.iter().enumerate() {
            match label.as_deref().and_then(|id| taxonomy.find(id)) {
                None => found.elsewhere += 1,
                Some(ix) => {
                    let images = match taxonomy.node(ix).labelled {
                        true => &mut found.known,
                        false => &mut found.unknown,
                    };
                    images.push(KnownImage::new(embedded.points.row(at), ix, at));
                }
            }
        }
        found
    }
}

/// Judges where the paths of images stop, among labels with these points. Returns the origin of the
/// calibration in words, and the metrics.
fn evaluate(
    cx: &Context<'_, '_>,
    taxonomy: &Taxonomy,
    points: &Points,
    known: &[KnownImage<'_>],
    unknown: &[KnownImage<'_>],
) -> anyhow::Result<(&'static str, BTreeMap<String, f64>)> {
    let model = cx.model()?;
    let (space, width) = (model.space()?, points.width());
    let classifier = |calibration: Calibration| {
        Classifier::new(taxonomy.clone(), points.data().to_vec(), width, calibration)
    };
    let (by, walked, calibration) = match &model.model.calibration {
        Some(bundled) => {
            let walked = stop::walks(&classifier(bundled.clone())?, space, known);
            ("the bundle's", walked, bundled.clone())
        }
        None => {
            let (walked, fitted) = stop_fit::cross_fit(classifier, space, known)?;
            let walked = walked.into_iter().map(|(_, walk)| walk).collect();
            let by = "fitted on halves, each evaluated with that of the other";
            (by, walked, fitted)
        }
    };
    let mut metrics = stop::known(&walked);
    if !unknown.is_empty() {
        let walked = stop::walks(&classifier(calibration.clone())?, space, unknown);
        metrics.extend(stop::unknown(&walked, calibration.threshold));
    }
    Ok((by, metrics))
}

fn run(cx: &Context<'_, '_>) -> anyhow::Result<TaskResult> {
    let model = cx.model()?;
    let (full, source) = cx.taxonomy(cx.data)?;
    let share = cx.options.hold_out;
    if !(0.0..1.0).contains(&share) {
        return Err(usage(format!(
            "--hold-out: expected a share of the labels in [0, 1), found {share}"
        )));
    }
    let taxonomy = hold_out(full, share);
    let data = registry::open(cx.data, Need::Labels)?;
    let records = data.records();
    let skipped = data.left_out();
    let embedded = model.dataset(data, cx.data, cx.resize(ResizeMode::CentreCrop))?;
    let ids = node_labels(&taxonomy, &embedded.about.labels);
    let Images {
        known,
        unknown,
        elsewhere,
    } = Images::of(&embedded, &ids, &taxonomy);
    if known.len() < 2 {
        return Err(usage(format!(
            "--data: expected images with labels of the taxonomy, found {} of {records}",
            known.len()
        )));
    }
    let labels = taxonomy.labelled();
    let names = names(&taxonomy, labels);
    let ids = labels.iter().map(|ix| taxonomy.node(*ix).id.clone());
    let ids: Vec<String> = ids.collect();
    let (set, points) = class_points(cx, model, (&ids, &names))?;
    let (by, metrics) = evaluate(cx, &taxonomy, &points, &known, &unknown)?;
    Ok(TaskResult {
        n: known.len(),
        classes: labels.len(),
        metrics,
        settings: named([
            ("resize", cx.resize_name(ResizeMode::CentreCrop)),
            ("calibration", by.to_owned()),
            ("taxonomy", source.to_owned()),
            ("hold_out", share.to_string()),
        ]),
        prompts: set.to_owned(),
        left_out: named([("label not in the taxonomy", elsewhere)]),
        coverage: Some(Coverage {
            skipped,
            ..embedded
                .about
                .coverage(records, known.len() + unknown.len())
        }),
        ..TaskResult::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_labels_is_held_out_evenly() {
        let rows: String = (0..10)
            .map(|i| format!("l{i}\tlabel {i}\tr\t1\n"))
            .collect();
        let text = format!("synset\tnames\thypernyms\tlabelled\nr\tall\t\t0\n{rows}");
        let full = Taxonomy::from_tsv(&text).unwrap();
        let kept = hold_out(full, 0.2);
        let labels = kept.nodes().iter().filter(|node| node.labelled);
        let labels: Vec<&str> = labels.map(|node| node.id.as_str()).collect();
        assert_eq!(labels, ["l0", "l1", "l2", "l3", "l5", "l6", "l7", "l8"]);
    }
}
