//! `trainer plot run`.

use espalier_figures::plot::draw;
use espalier_io::exit::usage;
use espalier_io::run_metrics::{RunMetrics, names};

use super::finish::finish;
use super::inputs;
use crate::cli::plot::RunArgs;

/// Maximum number of runs that can be distinguished by colour.
const RUNS: usize = 6;

/// Draws the metrics of runs over the steps.
pub(super) fn run(args: &RunArgs) -> anyhow::Result<()> {
    let output = inputs::output(&args.file)?;
    if args.run.len() > RUNS {
        return Err(usage(format!(
            "--run: expected at most {RUNS} runs, which colours can distinguish, found {}",
            args.run.len()
        )));
    }
    let mut runs = Vec::with_capacity(args.run.len());
    for folder in &args.run {
        runs.push(RunMetrics::read(folder)?);
    }
    let mut summary = Vec::new();
    for run in &runs {
        summary.push(run.name.clone());
        for name in names(std::slice::from_ref(run)) {
            let series = &run.series[name];
            for (kind, points) in [("", &series.training), ("val_", &series.validation)] {
                if let (Some([first, from]), Some([last, to])) = (points.first(), points.last()) {
                    summary.push(format!(
                        "  {kind}{name}: {from:.4} at step {first}, {to:.4} at step {last}"
                    ));
                }
            }
        }
    }
    let canvas = draw::run(&runs, args.file.theme);
    finish(args.json, &output, &canvas, &runs, &summary)
}
