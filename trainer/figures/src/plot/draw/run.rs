//! The metrics of runs: a panel for each value, a colour for each run.

use espalier_io::run_metrics::{RunMetrics, Series, names};

use crate::figure::axes;
use crate::figure::scale::bounds;
use crate::figure::size::{COLUMN, SMALL};
use crate::figure::{Canvas, Paint, Scale, Text, Theme};

/// Panels side by side.
const PANELS: usize = 2;
const WIDTH: f64 = COLUMN / PANELS as f64;
/// Margin of a panel for the numbers of its axis.
const LEFT: f64 = 46.0;
const RIGHT: f64 = 12.0;
const HEIGHT: f64 = 84.0;
/// Distance of the rows of panels, with a title above and numbers below.
const ROW: f64 = HEIGHT + 48.0;
const HEAD: f64 = 24.0;
/// Dashes of the lines of validation.
const DASHES: &str = "4 3";
/// Height of a line of the legend.
const LINE: f64 = 14.0;
const FOOT: f64 = 10.0;

/// Draws the panels.
pub fn run(runs: &[RunMetrics], theme: Theme) -> Canvas {
    let names = names(runs);
    let legend = legend(runs);
    let top = 8.0 + LINE * legend.len() as f64;
    let rows = names.len().div_ceil(PANELS);
    let mut canvas = Canvas::new(
        COLUMN,
        top + rows as f64 * ROW + FOOT,
        theme,
        "Metrics of training runs over the steps",
    );
    for (at, (text, colour)) in legend.into_iter().enumerate() {
        let y = 8.0 + LINE * (at as f64 + 0.5);
        let paint = match colour {
            Some(colour) => Paint::stroke(theme.series(colour), 1.5),
            None => Paint::stroke(theme.muted(), 1.5).dashed(DASHES),
        };
        canvas.line([8.0, y], [28.0, y], paint);
        canvas.text(&Text::new([34.0, y], text).size(SMALL));
    }
    for (at, name) in names.into_iter().enumerate() {
        let left = (at % PANELS) as f64 * WIDTH;
        let top = top + (at / PANELS) as f64 * ROW;
        panel(&mut canvas, [left, top], name, runs);
    }
    canvas
}

/// Returns the lines of the legend: a text and the number of the colour of a run, of which one alone
/// needs no name; `None` for validation, whose lines are dashed.
fn legend(runs: &[RunMetrics]) -> Vec<(String, Option<usize>)> {
    let mut lines = Vec::new();
    if runs.len() > 1 {
        lines.extend(runs.iter().map(|run| run.name.clone()).zip((0..).map(Some)));
    }
    let mut all = runs.iter().flat_map(|run| run.series.values());
    if all.any(|series| !series.validation.is_empty()) {
        lines.push(("validation".to_owned(), None));
    }
    lines
}

fn panel(canvas: &mut Canvas, [left, top]: [f64; 2], name: &str, runs: &[RunMetrics]) {
    let theme = canvas.theme();
    let found = runs.iter().zip(0..);
    let found = found.filter_map(|(run, at)| Some((at, run.series.get(name)?)));
    let found: Vec<(usize, &Series)> = found.collect();
    let points = || {
        let series = found.iter().map(|(_, series)| series);
        series.flat_map(|series| series.training.iter().chain(&series.validation))
    };
    let steps = bounds(points().map(|[step, _]| *step)).unwrap_or([0.0, 1.0]);
    let values = bounds(points().map(|[_, value]| *value)).unwrap_or([0.0, 1.0]);
    let (from, to) = (left + LEFT, left + WIDTH - RIGHT);
    let bottom = top + HEAD + HEIGHT;
    let x = Scale::new(steps, [from, to]);
    let y = Scale::new(values, [bottom, top + HEAD]);
    canvas.text(&Text::new([from, top + 12.0], name.replace('_', " ")));
    axes::below(canvas, &x, bottom, "", 3);
    axes::left(canvas, &y, from, "", 3);
    for (at, series) in found {
        let paint = Paint::stroke(theme.series(at), 1.2);
        let line = |points: &[[f64; 2]]| -> Vec<[f64; 2]> {
            let on = |[step, value]: &[f64; 2]| [x.at(*step), y.at(*value)];
            points.iter().map(on).collect()
        };
        canvas.polyline(&line(&series.training), paint);
        if !series.validation.is_empty() {
            canvas.polyline(&line(&series.validation), paint.dashed(DASHES));
        }
    }
}
