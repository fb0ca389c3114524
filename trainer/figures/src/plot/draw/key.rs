//! Names of series: next to their curves if there is room, otherwise in a corner; names of groups
//! in a row.

use crate::figure::font::{self, Weight};
use crate::figure::labels::{self, Crowded, Label, PlacedLabel};
use crate::figure::size::BODY;
use crate::figure::theme::Colour;
use crate::figure::{Canvas, Paint, Text};

/// Height of a line.
const LINE: f64 = 14.0;

/// The name of a curve.
pub(super) struct Named {
    pub(super) name: String,
    pub(super) colour: Colour,
    /// Its preferred position.
    pub(super) at: [f64; 2],
}

/// A curve on the canvas.
pub(super) struct Curve {
    /// `None` if it is named elsewhere.
    pub(super) named: Option<Named>,
    pub(super) line: Vec<[f64; 2]>,
    pub(super) paint: Paint,
}

/// Draws curves, later ones on top, and names each of them inside `frame`.
pub(super) fn curves(canvas: &mut Canvas, curves: Vec<Curve>, frame: [f64; 4]) {
    for curve in &curves {
        canvas.polyline(&curve.line, curve.paint);
    }
    let (named, lines): (Vec<_>, Vec<_>) = curves.into_iter().map(|c| (c.named, c.line)).unzip();
    let named: Vec<Named> = named.into_iter().flatten().collect();
    names(canvas, &named, frame, &lines);
}

/// Names next to the curves, inside `frame`, without covering any of `curves`; names that do not
/// fit are listed in the emptiest corner.
fn names(canvas: &mut Canvas, named: &[Named], frame: [f64; 4], curves: &[Vec<[f64; 2]>]) {
    let mut points: Vec<([f64; 2], f64)> = curves.iter().flatten().map(|p| (*p, 2.0)).collect();
    let labels: Vec<Label> = named
        .iter()
        .map(|n| Label {
            at: n.at,
            text: n.name.clone(),
            size: BODY,
            weight: Weight::Bold,
            gap: 4.0,
        })
        .collect();
    let placed = labels::place(&labels, frame, &points, Crowded::LeftOut(0));
    for p in &placed {
        let Named { name, colour, .. } = &named[p.label];
        canvas.text(&Text::new(p.at, name.as_str()).bold().colour(colour).halo());
        let middle = [(p.area[0] + p.area[2]) / 2.0, p.at[1]];
        points.extend([(p.at, 0.0), (middle, 0.0), ([p.area[2], p.at[1]], 0.0)]);
    }
    let placed: Vec<usize> = placed.iter().map(|p| p.label).collect();
    let rest = named.iter().enumerate();
    let rest = rest.filter(|(i, _)| !placed.contains(i)).map(|(_, n)| n);
    corner(canvas, &rest.collect::<Vec<_>>(), frame, &points);
}

/// Names listed in the corner that hides least.
fn corner(canvas: &mut Canvas, named: &[&Named], frame: [f64; 4], points: &[([f64; 2], f64)]) {
    let widths = named.iter();
    let widths = widths.map(|n| font::width(&n.name, BODY, Weight::Bold));
    let width = widths.fold(0.0, f64::max);
    let height = LINE * named.len() as f64;
    let (left, right) = (frame[0] + 4.0, frame[2] - width);
    let (top, bottom) = (frame[1] + 4.0, frame[3] - height);
    let corners = [[right, top], [left, top], [right, bottom], [left, bottom]];
    let corners = corners.map(|[x, y]| [x, y, x + width, y + height]);
    let hidden = |c: &[f64; 4]| {
        let inside = |p: &[f64; 2]| p[0] > c[0] && p[0] < c[2] && p[1] > c[1] && p[1] < c[3];
        points.iter().filter(|(p, _)| inside(p)).count()
    };
    let Some(best) = corners.iter().min_by_key(|c| hidden(c)) else {
        return;
    };
    for (i, n) in named.iter().enumerate() {
        let at = [best[0], best[1] + LINE * (i as f64 + 0.5)];
        let text = Text::new(at, n.name.as_str()).bold().colour(n.colour);
        canvas.text(&text.halo());
    }
}

/// Draws a placed label in the first colour, and a line to it from its point in the second, where
/// one is needed.
pub(super) fn label(
    canvas: &mut Canvas,
    placed: &PlacedLabel,
    label: &Label,
    [ink, leader]: [Colour; 2],
) {
    if let Some(end) = placed.leader {
        canvas.line(label.at, end, Paint::stroke(leader, 0.5));
    }
    let text = Text::new(placed.at, label.text.as_str()).size(label.size);
    let text = text.colour(ink).halo();
    canvas.text(&match label.weight {
        Weight::Bold => text.bold(),
        Weight::Regular => text,
    });
}

/// Coloured dots with names, from `at` to the right, in as many lines as needed; returns the height
/// of the lines.
pub(super) fn row(
    canvas: &mut Canvas,
    at: [f64; 2],
    entries: &[(&str, Colour)],
    right: f64,
) -> f64 {
    let [mut x, mut y] = at;
    for (name, colour) in entries {
        let width = 12.0 + font::width(name, BODY, Weight::Regular);
        if x > at[0] && x + width > right {
            (x, y) = (at[0], y + LINE);
        }
        canvas.circle([x + 4.0, y], 3.0, Paint::fill(colour));
        canvas.text(&Text::new([x + 10.0, y], *name));
        x += width + 10.0;
    }
    y - at[1] + LINE
}
