//! VL-CheckList, objects: a text that fits against one that does not, by place and size (notation
//! 6.9).

use std::collections::BTreeMap;

use espalier_core::input::ResizeMode;
use espalier_data::benchmarks::vl_checklist::{EXPECTED, VlChecklist as Data};

use crate::embedded::{EmbeddedFiles, View};
use crate::embedder::Embedder;
use crate::metrics::summary;
use crate::task::{BenchmarkData, Context, Task, TaskResult, named};

/// Accuracy by kind, then means of means.
pub const TASK: Task = Task {
    name: "vl-checklist",
    about: "a text that fits against one that does not: center .. margin, large .. small, location, size, \
     object",
    needs: EXPECTED,
    benchmarks: &[BenchmarkData {
        dataset: "vl-checklist",
        path: "vl-checklist",
        get: "the corpus YAML files and JSON lists of VL-CheckList in vl-checklist/ with the \
              images of Visual Genome (and HAKE, SWiG for the full benchmark) below it",
    }],
    run,
};

const LOCATIONS: [&str; 3] = ["center", "mid", "margin"];
const SIZES: [&str; 3] = ["large", "medium", "small"];

fn run(cx: &Context<'_, '_>) -> anyhow::Result<TaskResult> {
    let data = Data::open(cx.path()?, cx.options.images.as_deref())?;
    let model = cx.model()?;
    let view = View {
        resize: cx.resize(ResizeMode::Squeeze),
        double_norm: cx.options.double_norm,
    };
    let listed = model.files(&data.images, view)?;
    let mut coverage = data.coverage.clone();
    let questions = |image: usize| {
        let all = data.lists.iter().flat_map(|l| &l.questions);
        all.filter(|q| q.image == image).count() as u64
    };
    listed.subtract_unreadable(&mut coverage, questions);
    // Accuracies by kind and corpus.
    let mut found: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
    let (mut n, mut ties) = (0, 0);
    for list in &data.lists {
        let questions = list.questions.iter();
        let questions = questions.map(|q| (q.image, [&q.positive, &q.negative]));
        let (right, total) = count_right(model, &listed, questions, &mut ties)?;
        if total > 0 {
            let kind = list.kind.rsplit('/').next().unwrap_or(&list.kind);
            let of_kind = found.entry(kind.to_owned()).or_default();
            of_kind.insert(list.corpus.clone(), right as f64 / total as f64);
        }
        n += total;
    }
    coverage.note("question whose texts score the same, a miss", ties, "");
    Ok(TaskResult {
        dataset: Some("vl-checklist".into()),
        n,
        classes: 2,
        settings: named([
            ("resize", cx.resize_name(ResizeMode::Squeeze)),
            ("double_norm", cx.options.double_norm.to_string()),
        ]),
        coverage: Some(coverage),
        metrics: means(&found),
        ..TaskResult::default()
    })
}

/// Counts the questions whose right text scores higher, and those whose image could be read. A
/// question is the index of its image in `listed` and its texts, the right one first. Adds the `ties`.
pub(super) fn count_right<'q>(
    model: &Embedder<'_>,
    listed: &EmbeddedFiles,
    questions: impl Iterator<Item = (usize, [&'q String; 2])>,
    ties: &mut u64,
) -> anyhow::Result<(usize, usize)> {
    let (images, texts): (Vec<usize>, Vec<[&String; 2]>) = questions.unzip();
    let texts: Vec<String> = texts.into_iter().flatten().cloned().collect();
    let (space, points) = (model.space()?, model.texts(&texts)?);
    let (mut right, mut total) = (0, 0);
    for (i, image) in images.into_iter().enumerate() {
        let Some(image) = listed.point(image) else {
            continue;
        };
        let score = |at: usize| space.score(points.row(at), image);
        let (fits, wrong) = (score(2 * i), score(2 * i + 1));
        total += 1;
        right += usize::from(fits > wrong);
        *ties += u64::from(fits == wrong);
    }
    Ok((right, total))
}

fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values = values.into_iter().peekable();
    values.peek().is_some().then(|| summary::mean(values))
}

/// Returns the family of a corpus: `vg` of `vg_obj` and `vg_subj`, `swig` of all of SWiG's.
fn family(corpus: &str) -> &str {
    corpus.split('_').next().unwrap_or(corpus)
}

/// Returns the mean over corpora within a family, then over families; location, size and their
/// mean.
fn means(found: &BTreeMap<String, BTreeMap<String, f64>>) -> BTreeMap<String, f64> {
    let mut metrics = BTreeMap::new();
    for (kind, corpora) in found {
        let mut families: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for (corpus, accuracy) in corpora {
            families.entry(family(corpus)).or_default().push(*accuracy);
            if corpora.len() > 1 {
                metrics.insert(format!("{corpus}_{kind}"), *accuracy);
            }
        }
        let value = mean(families.into_values().filter_map(mean));
        metrics.extend(value.map(|v| (kind.clone(), v)));
    }
    let group = |kinds: [&str; 3]| -> Option<f64> {
        mean(kinds.into_iter().filter_map(|k| metrics.get(k).copied()))
    };
    let (location, size) = (group(LOCATIONS), group(SIZES));
    metrics.extend(location.map(|v| ("location".to_owned(), v)));
    metrics.extend(size.map(|v| ("size".to_owned(), v)));
    metrics.extend(mean([location, size].into_iter().flatten()).map(|v| ("object".to_owned(), v)));
    metrics
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_averaged_first() {
        let of = |pairs: &[(&str, f64)]| -> BTreeMap<String, f64> {
            pairs.iter().map(|(c, v)| ((*c).to_owned(), *v)).collect()
        };
        let found = BTreeMap::from([
            (
                "center".to_owned(),
                of(&[("vg_obj", 0.6), ("vg_subj", 0.8), ("hake", 0.5)]),
            ),
            ("large".to_owned(), of(&[("vg_obj", 0.9)])),
        ]);
        let m = means(&found);
        // (0.7 + 0.5) / 2.
        assert!((m["center"] - 0.6).abs() < 1e-12);
        assert_eq!(
            (m["location"], m["size"], m["hake_center"]),
            (m["center"], 0.9, 0.5)
        );
        assert!((m["object"] - 0.75).abs() < 1e-12);
        assert!(!m.contains_key("vg_obj_large"));
    }
}
