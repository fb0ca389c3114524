//! Classification at each rank of a lineage on its own (METHODS 6.7).

use std::collections::{BTreeMap, BTreeSet};

use espalier_core::input::ResizeMode;

use super::ranks::{self, Lineages, NEEDS, PLACES};
use crate::eval::prompts;
use crate::eval::search::top_k;
use crate::eval::task::{Context, Outcome, Place, Task, settings};

/// Accuracy at each rank.
pub struct RankZeroShot;

impl Task for RankZeroShot {
    fn name(&self) -> &'static str {
        "rank-zero-shot"
    }

    fn about(&self) -> &'static str {
        "classification at each rank on its own: acc1_kingdom .. acc1_species, acc1_mean"
    }

    fn needs(&self) -> &'static str {
        NEEDS
    }

    fn places(&self) -> &'static [Place] {
        PLACES
    }

    fn run(&self, cx: &Context<'_>) -> anyhow::Result<Outcome> {
        let mut data = Lineages::open(cx)?;
        let model = cx.model()?;
        let set = match cx.options.prompts.as_str() {
            prompts::AUTO => "openai-80",
            named => named,
        };
        let queries = data.pictures.points.select(&data.rows);
        let mut metrics = BTreeMap::new();
        let mut classes = 0;
        for (rank, name) in data.ranks().iter().enumerate() {
            let text = |names: &Vec<String>| ranks::text(names, rank, cx.options.rank_text);
            let truth: Vec<String> = data.names.iter().map(text).collect();
            let labels: BTreeSet<&String> = truth.iter().collect();
            let labels: Vec<String> = labels.into_iter().cloned().collect();
            if labels.len() == 1 {
                data.ledger
                    .note("rank with one name, every answer is right", 1, name);
            }
            let points = model.classes(&labels, set)?;
            let ranked = top_k(model.space()?, &queries, &points, 1);
            let right =
                (0..ranked.len()).filter(|i| labels[ranked.items(*i)[0] as usize] == truth[*i]);
            metrics.insert(
                format!("acc1_{name}"),
                right.count() as f64 / truth.len() as f64,
            );
            classes += labels.len();
        }
        ranks::with_mean(&mut metrics, "acc1");
        Ok(Outcome {
            n: data.rows.len(),
            classes,
            prompts: set.to_owned(),
            settings: settings([
                ("resize", cx.resize_word(ResizeMode::CentreCrop)),
                ("rank_text", super::word(&cx.options.rank_text)),
            ]),
            ledger: Some(data.ledger),
            metrics,
            ..Outcome::default()
        })
    }
}
