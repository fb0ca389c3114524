//! Order and matching of lineages: HierarCaps' protocol with one text per rank and one image per
//! species (notation 6.7).

use std::collections::BTreeMap;

use espalier_core::input::ResizeMode;
use espalier_data::records::random::{Purpose, Random};

use super::hierarcaps::walk;
use super::ranks::{self, BENCHMARKS, Lineages, NEEDS};
use crate::matching::{self, Chains};
use crate::task::{Context, Task, TaskResult, named, value_name};

/// Precision, recall, F1 and order over ranks.
pub const TASK: Task = Task {
    name: "rank-ordering",
    about: "texts of ranks found on the path outward from the root: precision, recall, f1, d_corr",
    needs: NEEDS,
    benchmarks: BENCHMARKS,
    run,
};

fn run(cx: &Context<'_, '_>) -> anyhow::Result<TaskResult> {
    let data = Lineages::open(cx)?;
    let space = ranks::space(cx)?;
    let walk = walk(cx, &space)?;
    let mut species: BTreeMap<&Vec<String>, Vec<usize>> = BTreeMap::new();
    for (row, names) in data.rows.iter().zip(&data.names) {
        species.entry(names).or_default().push(*row);
    }
    let mut random = Random::new(cx.options.seed, Purpose::Sample, 0, 0);
    let pick = |rows: &Vec<usize>| {
        let at = random.below(u32::try_from(rows.len()).unwrap_or(u32::MAX));
        rows[at as usize]
    };
    let rows: Vec<usize> = species.values().map(pick).collect();
    let tiers = data.ranks().len();
    let chain = |names: &&Vec<String>| -> Vec<String> {
        (0..tiers)
            .map(|rank| ranks::text(names, rank, cx.options.rank_text))
            .collect()
    };
    let texts: Vec<Vec<String>> = species.keys().map(chain).collect();
    let points = cx.model()?.texts(&texts.concat())?;
    let of_image: Vec<Vec<usize>> = (0..rows.len()).map(|i| vec![i]).collect();
    let chains = Chains {
        texts: &texts,
        points: &points,
        of_image: &of_image,
    };
    let images = data.images.points.select(&rows);
    Ok(TaskResult {
        n: rows.len(),
        classes: points.len(),
        settings: named([
            ("resize", cx.resize_name(ResizeMode::CentreCrop)),
            ("radii", value_name(&walk.radii)),
            ("steps", walk.steps.to_string()),
            ("drop_first", walk.drop_first.to_string()),
            ("rank_text", value_name(&cx.options.rank_text)),
            ("root", ranks::ROOT.to_owned()),
        ]),
        metrics: matching::metrics(&space, &images, chains, walk),
        coverage: Some(data.coverage),
        ..TaskResult::default()
    })
}
