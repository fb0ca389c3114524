//! Precision over recall, one curve a model.

use super::key::{self, Named};
use crate::figure::axes;
use crate::figure::canvas::COLUMN;
use crate::figure::scale::bounds;
use crate::figure::{Canvas, Paint, Scale, Theme};
use crate::plot::pr::Pr;

const LEFT: f64 = 46.0;
const RIGHT: f64 = COLUMN - 12.0;
const TOP: f64 = 26.0;
const HEIGHT: f64 = 200.0;
const FOOT: f64 = 42.0;

/// Draw the curves.
#[must_use]
pub fn pr(data: &Pr, theme: Theme) -> Canvas {
    let title = "Precision and recall of finding parts by their whole";
    let bottom = TOP + HEIGHT;
    let mut canvas = Canvas::new(COLUMN, bottom + FOOT, theme, title);
    let x = Scale::new([0.0, 1.0], [LEFT, RIGHT]);
    let precisions = data.curves.iter().flat_map(|c| &c.points);
    let highest = bounds(precisions.map(|p| p.precision)).map_or(1.0, |b| b[1]);
    let top = ((highest * 10.0).ceil() / 10.0).clamp(0.1, 1.0);
    let y = Scale::new([0.0, top], [bottom, TOP]);
    let height = y.at(data.chance);
    canvas.line(
        [LEFT, height],
        [RIGHT, height],
        Paint::stroke(theme.muted(), 0.8).dashed("3 3"),
    );
    let mut names = Vec::new();
    let mut lines = Vec::new();
    for (i, curve) in data.curves.iter().enumerate() {
        let line: Vec<[f64; 2]> = curve
            .points
            .iter()
            .map(|p| [x.at(p.recall), y.at(p.precision)])
            .collect();
        names.push(Named {
            name: format!("{}  AP {:.3}", curve.model, curve.average_precision),
            colour: theme.series(i),
            at: line.get(line.len() / 4).copied().unwrap_or([LEFT, TOP]),
        });
        lines.push(line);
    }
    for (i, line) in lines.iter().enumerate() {
        canvas.polyline(line, Paint::stroke(theme.series(i), 1.5));
    }
    names.push(Named {
        name: format!("chance {:.3}", data.chance),
        colour: theme.muted(),
        at: [x.at(0.9), height],
    });
    axes::below(&mut canvas, &x, bottom, "recall", 5);
    axes::left(&mut canvas, &y, LEFT, "precision", 4);
    lines.push(
        (0..60)
            .map(|i| [LEFT + f64::from(i) * (RIGHT - LEFT) / 59.0, height])
            .collect(),
    );
    key::names(
        &mut canvas,
        &names,
        [LEFT + 4.0, TOP - 6.0, RIGHT, bottom - 4.0],
        &lines,
    );
    canvas
}
