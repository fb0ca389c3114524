//! Classification at each rank of a lineage separately (notation 6.7).

use std::collections::BTreeSet;

use espalier_core::input::ResizeMode;

use super::ranks::{self, BENCHMARKS, Lineages, NEEDS};
use crate::prompts;
use crate::search::top_k;
use crate::task::{Context, Task, TaskResult, named, value_name};

/// Accuracy at each rank.
pub const TASK: Task = Task {
    name: "rank-zero-shot",
    about: "classification at each rank separately: acc1_kingdom .. acc1_species, acc1_mean",
    needs: NEEDS,
    benchmarks: BENCHMARKS,
    run,
};

fn run(cx: &Context<'_, '_>) -> anyhow::Result<TaskResult> {
    let mut data = Lineages::open(cx)?;
    let model = cx.model()?;
    let set = match cx.options.prompts.as_str() {
        prompts::AUTO => "openai-80",
        named => named,
    };
    let queries = data.images.points.select(&data.rows);
    let (mut classes, mut alone) = (0, Vec::new());
    let n = data.rows.len();
    let metrics = ranks::shares("acc1", &data.ranks(), n, |rank, name| {
        let text = |names: &Vec<String>| ranks::text(names, rank, cx.options.rank_text);
        let truth: Vec<String> = data.names.iter().map(text).collect();
        let labels: BTreeSet<&String> = truth.iter().collect();
        let labels: Vec<String> = labels.into_iter().cloned().collect();
        if labels.len() == 1 {
            alone.push(name.to_owned());
        }
        classes += labels.len();
        let points = model.classes(&labels, set)?;
        let ranked = top_k(model.space()?, &queries, &points, 1);
        let right = |i: &usize| labels[ranked.items(*i)[0] as usize] == truth[*i];
        Ok((0..ranked.len()).filter(right).count())
    })?;
    for name in &alone {
        let kind = "rank with one name, every answer is right";
        data.coverage.note(kind, 1, name);
    }
    Ok(TaskResult {
        n,
        classes,
        prompts: set.to_owned(),
        settings: named([
            ("resize", cx.resize_name(ResizeMode::CentreCrop)),
            ("rank_text", value_name(&cx.options.rank_text)),
        ]),
        coverage: Some(data.coverage),
        metrics,
        ..TaskResult::default()
    })
}
