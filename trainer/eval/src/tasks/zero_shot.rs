//! Classification through texts (notation 6.1).

use super::classified;
use super::labelled::{self, NEEDS};
use crate::protocols::BENCHMARKS;
use crate::task::{BenchmarkData, Context, Task, TaskResult};
use crate::zero_shot;

/// Classification of images by the texts of all classes.
pub struct ZeroShot;

impl Task for ZeroShot {
    fn name(&self) -> &'static str {
        "zero-shot"
    }

    fn about(&self) -> &'static str {
        "classification through texts: acc1, acc5 (micro) and mean_per_class_recall (macro)"
    }

    fn needs(&self) -> &'static str {
        NEEDS
    }

    fn benchmarks(&self) -> &'static [BenchmarkData] {
        &BENCHMARKS
    }

    fn run(&self, cx: &Context<'_>) -> anyhow::Result<TaskResult> {
        let (found, taxonomy) = labelled::answers(cx)?;
        let classes = found.classes.labels.len();
        let mut metrics = zero_shot::metrics(&found.answers(), &found.truth, classes);
        if let Some(classified) = &found.classified {
            let of_classifier = zero_shot::metrics(&classified.ranked, &found.truth, classes);
            metrics.extend(classified::with_prefix(of_classifier));
        }
        let evaluated = found.truth.len();
        Ok(found.outcome(cx, &taxonomy, evaluated, metrics))
    }
}
