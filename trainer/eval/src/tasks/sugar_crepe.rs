//! SugarCrepe: the caption against a hard negative (notation 6.9).

use std::collections::BTreeMap;

use espalier_core::input::ResizeMode;
use espalier_data::benchmarks::sugar_crepe::{EXPECTED, SugarCrepe as Data};

use super::vl_checklist::count_right;
use crate::task::{BenchmarkData, Context, Task, TaskResult, named};

/// Accuracy by kind of negative and over all questions.
pub const TASK: Task = Task {
    name: "sugar-crepe",
    about: "the caption against a wrong one: add_obj .. swap_att, overall",
    needs: EXPECTED,
    benchmarks: &[BenchmarkData {
        dataset: "sugarcrepe",
        path: "sugarcrepe",
        get: "the seven JSON files of SugarCrepe's data folder in sugarcrepe/ and COCO's val2017 \
              images below it",
    }],
    run,
};

fn run(cx: &Context<'_, '_>) -> anyhow::Result<TaskResult> {
    let data = Data::open(cx.path()?, cx.options.images.as_deref())?;
    let model = cx.model()?;
    let listed = model.files(&data.images, cx.resize(ResizeMode::Squeeze))?;
    let mut coverage = data.coverage.clone();
    let questions = |image: usize| {
        let all = data.kinds.values().flatten();
        all.filter(|q| q.image == image).count() as u64
    };
    listed.subtract_unreadable(&mut coverage, questions);
    let mut metrics = BTreeMap::new();
    let (mut right, mut total, mut ties) = (0, 0, 0);
    for (kind, questions) in &data.kinds {
        let questions = questions.iter();
        let questions = questions.map(|q| (q.image, [&q.caption, &q.negative]));
        let (hits, count) = count_right(model, &listed, questions, &mut ties)?;
        if count > 0 {
            metrics.insert(kind.clone(), hits as f64 / count as f64);
        }
        right += hits;
        total += count;
    }
    // Weighted by questions, not the mean of the kinds.
    metrics.insert("overall".to_owned(), right as f64 / total.max(1) as f64);
    coverage.note("question whose texts score the same, a miss", ties, "");
    Ok(TaskResult {
        dataset: Some("sugarcrepe".into()),
        n: total,
        classes: 2,
        settings: named([("resize", cx.resize_name(ResizeMode::Squeeze))]),
        coverage: Some(coverage),
        metrics,
        ..TaskResult::default()
    })
}
