//! SugarCrepe: the caption against a hard negative (notation 6.9).

use std::collections::BTreeMap;

use espalier_core::input::ResizeMode;
use espalier_data::benchmarks::sugar_crepe::{EXPECTED, SugarCrepe as Data};
use espalier_data::records::files::Item;

use crate::task::{BenchmarkData, Context, Task, TaskResult, settings};

/// Accuracy by kind of negative and over all questions.
pub struct SugarCrepe;

impl Task for SugarCrepe {
    fn name(&self) -> &'static str {
        "sugar-crepe"
    }

    fn about(&self) -> &'static str {
        "the caption against a wrong one: add_obj .. swap_att, overall"
    }

    fn needs(&self) -> &'static str {
        EXPECTED
    }

    fn benchmarks(&self) -> &'static [BenchmarkData] {
        &[BenchmarkData {
            dataset: "sugarcrepe",
            path: "sugarcrepe",
            get: "the seven JSON files of SugarCrepe's data folder in sugarcrepe/ and COCO's val2017 \
                  images below it",
        }]
    }

    fn run(&self, cx: &Context<'_>) -> anyhow::Result<TaskResult> {
        let data = Data::open(cx.path()?, cx.options.images.as_deref())?;
        let model = cx.model()?;
        let space = model.space()?;
        let items = data.images.iter().cloned().map(Item::from).collect();
        let listed = model.files(items, cx.resize(ResizeMode::Squeeze))?;
        let mut coverage = data.coverage.clone();
        let questions = |image: usize| {
            let all = data.kinds.values().flatten();
            all.filter(|q| q.image == image).count() as u64
        };
        listed.subtract_unreadable(&mut coverage, questions);
        let mut metrics = BTreeMap::new();
        let (mut right, mut total, mut ties) = (0, 0, 0);
        for (kind, questions) in &data.kinds {
            let texts: Vec<String> = questions
                .iter()
                .flat_map(|q| [q.caption.clone(), q.negative.clone()])
                .collect();
            let points = model.texts(&texts)?;
            let (mut hits, mut count) = (0, 0);
            for (i, question) in questions.iter().enumerate() {
                let Some(image) = listed.point(question.image) else {
                    continue;
                };
                let score = |at: usize| space.score(points.row(at), image);
                let (fits, wrong) = (score(2 * i), score(2 * i + 1));
                count += 1;
                hits += usize::from(fits > wrong);
                ties += u64::from(fits == wrong);
            }
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
            settings: settings([("resize", cx.resize_name(ResizeMode::Squeeze))]),
            coverage: Some(coverage),
            metrics,
            ..TaskResult::default()
        })
    }
}
