//! Distributions of distances, and by factor for products.

use super::key::{self, Curve, Named};
use crate::figure::axes;
use crate::figure::scale::bounds;
use crate::figure::size::COLUMN;
use crate::figure::theme::Colour;
use crate::figure::{Canvas, Paint, Scale, Theme};
use crate::plot::norms::{Norms, Series};

const LEFT: f64 = 46.0;
const RIGHT: f64 = COLUMN - 10.0;
const TOP: f64 = 20.0;
const HEIGHT: f64 = 172.0;
/// Space below a panel: ticks, numbers and the name of the axis.
const FOOT: f64 = 42.0;

/// Draws the distributions.
pub fn norms(data: &Norms, theme: Theme) -> Canvas {
    let panels = if data.factors.is_empty() { 1.0 } else { 2.0 };
    let height = TOP / 2.0 + panels * (TOP / 2.0 + HEIGHT + FOOT);
    let title = format!("{} of {}", data.measure.words(), data.model);
    let mut canvas = Canvas::new(COLUMN, height, theme, &title);
    distributions(&mut canvas, data);
    by_factor(&mut canvas, data, TOP + HEIGHT + FOOT + TOP / 2.0);
    canvas
}

fn distributions(canvas: &mut Canvas, data: &Norms) {
    let theme = canvas.theme();
    let bottom = TOP + HEIGHT;
    // Up to the ends of the curves, which extend beyond the bins.
    let ends = data
        .series
        .iter()
        .flat_map(|s| s.curve.iter().map(|p| p[0]));
    let [low, high] = bounds(ends.chain(data.edges.iter().copied())).unwrap_or([0.0, 1.0]);
    let x = Scale::new([low, high], [LEFT, RIGHT]);
    let tops = data.series.iter().flat_map(|s| {
        let curve = s.curve.iter().map(|p| p[1]);
        s.percents.iter().copied().chain(curve)
    });
    let top = bounds(tops).map_or(1.0, |b| b[1]);
    let y = Scale::new([0.0, 1.12 * top], [bottom, TOP]);
    let mut curves = Vec::new();
    for (i, series) in data.series.iter().enumerate() {
        bars(canvas, series, &data.edges, (&x, &y), theme.series(i));
        let on = |p: &[f64; 2]| [x.at(p[0]), y.at(p[1])];
        let line: Vec<[f64; 2]> = series.curve.iter().map(on).collect();
        let peak = line.iter().min_by(|a, b| a[1].total_cmp(&b[1])).copied();
        let at = peak.unwrap_or([x.at(series.median), TOP]);
        curves.push(curve(&series.name, at, line, theme.series(i)));
    }
    axes::below(canvas, &x, bottom, data.measure.words(), 6);
    axes::left(canvas, &y, LEFT, "percent", 5);
    key::curves(canvas, curves, [LEFT + 4.0, TOP - 4.0, RIGHT, bottom - 4.0]);
}

fn curve(name: &str, at: [f64; 2], line: Vec<[f64; 2]>, colour: Colour) -> Curve {
    Curve {
        named: Some(Named {
            name: name.to_owned(),
            colour,
            at,
        }),
        line,
        paint: Paint::stroke(colour, 1.4),
    }
}

fn bars(
    canvas: &mut Canvas,
    series: &Series,
    edges: &[f64],
    (x, y): (&Scale, &Scale),
    colour: Colour,
) {
    let mut outline = vec![[x.at(edges[0]), y.at(0.0)]];
    for (pair, percent) in edges.windows(2).zip(&series.percents) {
        outline.extend(pair.iter().map(|edge| [x.at(*edge), y.at(*percent)]));
    }
    outline.push([x.at(edges[edges.len() - 1]), y.at(0.0)]);
    canvas.polygon(&outline, Paint::fill(colour).opacity(0.2));
}

/// Medians of the factors, ordered by those of the first series, with bands from the tenth to the
/// ninetieth percentile; nothing unless the space is a product.
fn by_factor(canvas: &mut Canvas, data: &Norms, top: f64) {
    let theme = canvas.theme();
    let bottom = top + HEIGHT;
    let Some(first) = data.factors.first() else {
        return;
    };
    let count = first.percentiles.len();
    let median = |i: &usize| first.percentiles[*i][1];
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|a, b| median(b).total_cmp(&median(a)));
    let x = Scale::new([1.0, count.max(2) as f64], [LEFT, RIGHT]);
    let percentiles = data.factors.iter().flat_map(|f| &f.percentiles);
    let highest = bounds(percentiles.map(|p| p[2])).map_or(1.0, |b| b[1]);
    let y = Scale::new([0.0, 1.05 * highest.max(1e-9)], [bottom, top]);
    let place = |rank: usize, value: f64| [x.at((rank + 1) as f64), y.at(value)];
    let mut curves = Vec::new();
    for (i, series) in data.factors.iter().enumerate() {
        let along = |which: usize| {
            let each = order.iter().enumerate();
            each.map(|(rank, factor)| place(rank, series.percentiles[*factor][which]))
                .collect::<Vec<_>>()
        };
        let mut band = along(2);
        band.extend(along(0).into_iter().rev());
        canvas.polygon(&band, Paint::fill(theme.series(i)).opacity(0.14));
        let median = along(1);
        let at = median.get(count / 2).copied().unwrap_or([LEFT, top]);
        curves.push(curve(&series.name, at, median, theme.series(i)));
    }
    let name = format!("factor, ordered by the median of {}", first.name);
    axes::below(canvas, &x, bottom, &name, 6);
    axes::left(canvas, &y, LEFT, "distance to the root", 5);
    key::curves(canvas, curves, [LEFT + 4.0, top - 4.0, RIGHT, bottom - 4.0]);
}
