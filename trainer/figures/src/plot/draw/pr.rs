//! Precision over recall, one curve per model.

use espalier_eval::metrics::curve::Point;

use super::key::{self, Curve, Named};
use crate::figure::axes;
use crate::figure::scale::bounds;
use crate::figure::size::COLUMN;
use crate::figure::{Canvas, Paint, Scale, Text, Theme};
use crate::plot::pr::Pr;

const LEFT: f64 = 46.0;
/// Margin next to the frame, for the name of the chance line.
const RIGHT: f64 = COLUMN - 42.0;
const TOP: f64 = 26.0;
const HEIGHT: f64 = 200.0;
const FOOT: f64 = 42.0;

/// Draws the curves.
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
    // Named at its end, where curves come down to it; inside, the name would cover one of them.
    for (text, up) in [
        ("chance".to_owned(), -5.0),
        (format!("{:.3}", data.chance), 5.0),
    ] {
        let at = [RIGHT + 5.0, height + up];
        canvas.text(&Text::secondary(at, text, theme));
    }
    let mut curves = vec![Curve {
        named: None,
        // Sampled densely, so that no name covers it.
        line: (0..60)
            .map(|i| [LEFT + f64::from(i) * (RIGHT - LEFT) / 59.0, height])
            .collect(),
        paint: Paint::stroke(theme.muted(), 0.8).dashed("3 3"),
    }];
    for (i, curve) in data.curves.iter().enumerate() {
        let on = |p: &Point| [x.at(p.recall), y.at(p.precision)];
        let line: Vec<[f64; 2]> = curve.points.iter().map(on).collect();
        curves.push(Curve {
            named: Some(Named {
                name: format!("{}  AP {:.3}", curve.model, curve.average_precision),
                colour: theme.series(i),
                at: line.get(line.len() / 4).copied().unwrap_or([LEFT, TOP]),
            }),
            line,
            paint: Paint::stroke(theme.series(i), 1.5),
        });
    }
    axes::below(&mut canvas, &x, bottom, "recall", 5);
    axes::left(&mut canvas, &y, LEFT, "precision", 5);
    let frame = [LEFT + 4.0, TOP - 6.0, RIGHT, bottom - 4.0];
    key::curves(&mut canvas, curves, frame);
    canvas
}
