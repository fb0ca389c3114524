//! Classification through texts (notation 6.1).

use super::classified;
use super::labelled::{self, NEEDS};
use crate::protocols::BENCHMARKS;
use crate::task::{Context, Task, TaskResult};
use crate::zero_shot;

/// Classification of images by the texts of all classes.
pub const TASK: Task = Task {
    name: "zero-shot",
    about: "classification through texts: acc1, acc5 (micro) and mean_per_class_recall (macro)",
    needs: NEEDS,
    benchmarks: &BENCHMARKS,
    run,
};

fn run(cx: &Context<'_, '_>) -> anyhow::Result<TaskResult> {
    let found = labelled::answers(cx)?;
    let classes = found.classes.labels.len();
    let answers = zero_shot::answers(&found.ranked);
    let mut metrics = zero_shot::metrics(&answers, &found.truth, classes);
    if let Some(classified) = &found.classified {
        let of_classifier = zero_shot::metrics(&classified.ranked, &found.truth, classes);
        metrics.extend(classified::with_prefix(of_classifier));
    }
    let evaluated = found.truth.len();
    Ok(found.outcome(cx, evaluated, metrics))
}
