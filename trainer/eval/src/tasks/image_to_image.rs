//! Image-to-image retrieval, evaluated at each rank (notation 6.7).

use std::collections::BTreeMap;

use espalier_core::input::ResizeMode;
use espalier_io::exit::usage;

use super::ranks::{self, BENCHMARKS, Lineages, NEEDS};
use crate::search::top_k;
use crate::task::{Context, Task, TaskResult, named};

/// Whether the nearest other image belongs to the same kingdom, .., species.
pub const TASK: Task = Task {
    name: "image-to-image",
    about: "whether the nearest other image shares the rank: recall@1_kingdom .. recall@1_species",
    needs: NEEDS,
    benchmarks: BENCHMARKS,
    run,
};

fn run(cx: &Context<'_, '_>) -> anyhow::Result<TaskResult> {
    let mut data = Lineages::open(cx)?;
    if data.rows.len() < 2 {
        return Err(usage(
            "--data: expected at least two images to compare, found one",
        ));
    }
    let points = data.images.points.select(&data.rows);
    // The image itself, and the best other one.
    let ranked = top_k(cx.model()?.space()?, &points, &points, 2);
    let other = |i: usize| {
        let mut items = ranked.items(i).iter().map(|item| *item as usize);
        items.find(|item| *item != i)
    };
    let nearest: Vec<Option<usize>> = (0..points.len()).map(other).collect();
    let metrics = ranks::shares("recall@1", &data.ranks(), points.len(), |rank, _| {
        let same = |(i, j): (usize, &Option<usize>)| {
            j.is_some_and(|j| data.names[i][..=rank] == data.names[j][..=rank])
        };
        let pairs = nearest.iter().enumerate();
        Ok(pairs.filter(|pair| same(*pair)).count())
    })?;
    let mut count: BTreeMap<&Vec<String>, u64> = BTreeMap::new();
    for names in &data.names {
        *count.entry(names).or_default() += 1;
    }
    let alone = count.values().filter(|n| **n == 1).count() as u64;
    let kind = "last rank with one image, which has no other to find";
    data.coverage.note(kind, alone, "");
    Ok(TaskResult {
        n: points.len(),
        classes: points.len() - 1,
        settings: named([("resize", cx.resize_name(ResizeMode::CentreCrop))]),
        coverage: Some(data.coverage),
        metrics,
        ..TaskResult::default()
    })
}
