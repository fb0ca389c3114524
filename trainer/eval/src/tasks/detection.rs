//! Classification of given boxes by their nearest training boxes or by the texts of all labels
//! (notation 6.8).

use std::collections::BTreeSet;

use espalier_core::input::ResizeMode;

use super::detection_text;
use super::scenes::Boxes;
use crate::search::top_k;
use crate::task::{BenchmarkData, Context, Task, TaskResult, named};
use crate::zero_shot;

/// Number of neighbours that vote.
const NEIGHBOURS: usize = 5;

/// Label of a given box.
pub const TASK: Task = Task {
    name: "detection",
    about: "label of given boxes, by the texts of all labels: ap, with COCO's split also ap_novel and ap_base; \
     or by the five nearest boxes of --gallery: acc1, mean_per_class_recall",
    needs: "images with labelled boxes as --data: COCO's instances JSON, a folder of OpenImages (\
     annotations-bbox CSV), or shards; for a vote of neighbours, others as --gallery",
    benchmarks: &[BenchmarkData {
        dataset: "coco",
        path: "coco/annotations/instances_val2017.json",
        get: "coco/annotations/instances_val2017.json and coco/val2017/ from cocodataset.org",
    }],
    run,
};

fn run(cx: &Context<'_, '_>) -> anyhow::Result<TaskResult> {
    if cx.options.gallery.is_empty() {
        return detection_text::run(cx);
    }
    let queries = Boxes::open(cx, cx.data, "--data")?;
    let gallery = Boxes::open(cx, &cx.options.gallery, "--gallery")?;
    let space = cx.model()?.space()?;
    let (boxes, others) = (&queries.parts.points, &gallery.parts.points);
    let ranked = top_k(space, boxes, others, NEIGHBOURS);
    let classes: BTreeSet<&String> = queries.labels.iter().chain(&gallery.labels).collect();
    let classes: Vec<&String> = classes.into_iter().collect();
    let class = |label: &String| classes.binary_search(&label).unwrap_or_default();
    let answer = |i: usize| {
        let neighbours = ranked.items(i).iter();
        let votes = neighbours.map(|at| class(&gallery.labels[*at as usize]));
        vec![majority(&votes.collect::<Vec<_>>())]
    };
    let answers: Vec<Vec<usize>> = (0..ranked.len()).map(answer).collect();
    let truth: Vec<usize> = queries.labels.iter().map(class).collect();
    let mut metrics = zero_shot::metrics(&answers, &truth, classes.len());
    // Each box has only one answer.
    metrics.remove("acc5");
    let seen: BTreeSet<&String> = gallery.labels.iter().collect();
    let unseen = queries.labels.iter().filter(|l| !seen.contains(l)).count() as u64;
    let mut coverage = queries.coverage;
    let kind = "box of a label that --gallery does not have, a miss";
    coverage.note(kind, unseen, "");
    Ok(TaskResult {
        n: truth.len(),
        classes: classes.len(),
        settings: named([
            ("resize", cx.resize_name(ResizeMode::WhitePad)),
            ("neighbours", NEIGHBOURS.min(ranked.k()).to_string()),
        ]),
        coverage: Some(coverage),
        metrics,
        ..TaskResult::default()
    })
}

/// Returns the most frequent entry; of equally frequent ones the first, which is the nearest.
fn majority(votes: &[usize]) -> usize {
    let count = |v: usize| votes.iter().filter(|w| **w == v).count();
    // Of equal counts `max_by_key` takes the last.
    let nearest_last = votes.iter().rev().copied();
    nearest_last.max_by_key(|vote| count(*vote)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_majority_wins_and_the_nearest_breaks_ties() {
        assert_eq!(majority(&[3, 1, 1, 2, 0]), 1);
        assert_eq!(majority(&[4, 2, 2, 4, 0]), 4);
        assert_eq!(majority(&[7]), 7);
    }
}
