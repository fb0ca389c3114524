//! HyperLex: whether the angle between two words predicts to what degree one is a type of the other
//! (notation 6.5).

use espalier_data::benchmarks::hyperlex::{EXPECTED, Hyperlex as Data};
use espalier_io::exit::usage;

use crate::metrics::correlation::spearman;
use crate::task::{BenchmarkData, Context, Task, TaskResult, named};

/// Prompt of both words.
const PROMPT: &str = "a picture of a ";

/// Correlation of angles with human scores.
pub const TASK: Task = Task {
    name: "hyperlex",
    about: "Spearman correlation of angles with people's scores: rho_all, rho_nouns",
    needs: EXPECTED,
    benchmarks: &[BenchmarkData {
        dataset: "hyperlex",
        path: "hyperlex",
        get: "hyperlex/hyperlex-all.txt from the HyperLex distribution",
    }],
    run,
};

fn run(cx: &Context<'_, '_>) -> anyhow::Result<TaskResult> {
    let mut data = Data::open(cx.path()?)?;
    let model = cx.model()?;
    let space = model.space()?;
    let prompted = data.pairs.iter().flat_map(|p| [&p.general, &p.specific]);
    let texts: Vec<String> = prompted.map(|word| format!("{PROMPT}{word}")).collect();
    let points = model.texts(&texts)?;
    // The general word is the apex; a small angle means entailment.
    let angle = |i: usize| -space.exterior_angle(points.row(2 * i), points.row(2 * i + 1));
    let ours: Vec<f64> = (0..data.pairs.len()).map(angle).collect();
    let theirs: Vec<f64> = data.pairs.iter().map(|p| p.score).collect();
    let same = data.pairs.iter().filter(|p| p.general == p.specific);
    let kind = "pair of one word with itself, its angle is arbitrary";
    data.coverage.note(kind, same.count() as u64, "");
    let Some(all) = spearman(&ours, &theirs) else {
        let read = &data.coverage;
        return Err(usage(format!(
            "--data: expected two pairs that differ in score and in angle, found {} pairs in {} \
             lines",
            read.found, read.expected
        )));
    };
    let mut metrics = named([("rho_all", all)]);
    for (name, pos) in [("rho_nouns", "N"), ("rho_verbs", "V")] {
        let of = |values: &[f64]| -> Vec<f64> {
            let own = data.pairs.iter().zip(values).filter(|(p, _)| p.pos == pos);
            own.map(|(_, value)| *value).collect()
        };
        let rho = spearman(&of(&ours), &of(&theirs));
        metrics.extend(rho.map(|rho| (name.to_owned(), rho)));
    }
    Ok(TaskResult {
        dataset: Some("hyperlex".into()),
        n: data.pairs.len(),
        prompts: format!("{PROMPT}{{}}"),
        settings: named([("apex", "general".into())]),
        coverage: Some(data.coverage),
        metrics,
        ..TaskResult::default()
    })
}
