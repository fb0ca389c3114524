//! A lineage among its siblings in the UMAP plane, whose axes have no meaning.

use super::key;
use crate::figure::font::Weight;
use crate::figure::labels::{self, Crowded, Label};
use crate::figure::scale::bounds;
use crate::figure::size::{BODY, COLUMN};
use crate::figure::theme::Colour;
use crate::figure::{Anchor, Canvas, Paint, Text, Theme};
use crate::plot::lineage::{Item, Umap};

const HEIGHT: f64 = 320.0;
/// Margins around the points for labels, horizontal and vertical.
const ROOM: [f64; 2] = [46.0, 24.0];
const FOOT: f64 = 26.0;

/// Colours from general to specific, light to dark on paper; the order of viridis.
const RANKS: [Colour; 6] = [
    "#6bbf59", "#27a884", "#23888e", "#31688e", "#443a83", "#440154",
];
const RANKS_ON_DARK: [Colour; 6] = [
    "#4f5ea8", "#3f7fb5", "#2fa3a8", "#4fc38a", "#a3d94f", "#f0e442",
];

fn colour(theme: Theme, rank: usize, last: usize) -> Colour {
    let steps = RANKS.len() - 1;
    // Rounds to the nearest step, so that the first and the last are reached and all are used
    // equally.
    let at = (2 * rank * steps + last) / (2 * last.max(1));
    match theme {
        Theme::Light => RANKS[at.min(steps)],
        Theme::Dark => RANKS_ON_DARK[at.min(steps)],
    }
}

/// Draws a lineage.
pub fn lineage(data: &Umap, theme: Theme) -> Canvas {
    let title = format!("{} and its siblings in {}", data.label, data.model);
    let mut canvas = Canvas::new(COLUMN, HEIGHT + FOOT, theme, &title);
    let places = places(data);
    let last = data.items.iter().map(|i| i.rank).max().unwrap_or(0);
    let (lineage, siblings): (Vec<usize>, Vec<usize>) =
        (0..data.items.len()).partition(|i| data.items[*i].on_lineage);
    let path: Vec<[f64; 2]> = lineage.iter().map(|i| places[*i]).collect();
    canvas.polyline(&path, Paint::stroke(theme.series(1), 1.0).opacity(0.6));
    let filled = |i: usize| Paint::fill(colour(theme, data.items[i].rank, last));
    for i in siblings {
        canvas.circle(places[i], 2.4, filled(i).outlined(theme.paper(), 0.5));
    }
    for i in lineage {
        canvas.circle(places[i], 4.0, filled(i).outlined(theme.series(1), 1.4));
    }
    names(&mut canvas, data, &places);
    legend(&mut canvas, last);
    canvas
}

/// Returns the positions on the canvas, with the same scale in both directions.
fn places(data: &Umap) -> Vec<[f64; 2]> {
    let of = |k: usize| bounds(data.items.iter().map(|i| i.at[k])).unwrap_or([0.0, 1.0]);
    let (x, y) = (of(0), of(1));
    let span = |b: [f64; 2]| (b[1] - b[0]).max(1e-9);
    let room = [COLUMN - 2.0 * ROOM[0], HEIGHT - 2.0 * ROOM[1]];
    let scale = (room[0] / span(x)).min(room[1] / span(y));
    let middle = |b: [f64; 2]| (b[0] + b[1]) / 2.0;
    data.items
        .iter()
        .map(|i| {
            [
                COLUMN / 2.0 + scale * (i.at[0] - middle(x)),
                HEIGHT / 2.0 - scale * (i.at[1] - middle(y)),
            ]
        })
        .collect()
}

fn label(item: &Item, at: [f64; 2]) -> Label {
    let (size, weight, gap) = match item.on_lineage {
        true => (BODY, Weight::Bold, 6.0),
        false => (7.5, Weight::Regular, 4.0),
    };
    Label {
        at,
        text: item.name.clone(),
        size,
        weight,
        gap,
    }
}

/// The lineage's names first; siblings are named if there is room.
fn names(canvas: &mut Canvas, data: &Umap, places: &[[f64; 2]]) {
    let theme = canvas.theme();
    let items = || data.items.iter().zip(places);
    let named = |on_lineage: bool| -> Vec<Label> {
        let own = items().filter(|(item, _)| item.on_lineage == on_lineage);
        own.map(|(item, at)| label(item, *at)).collect()
    };
    let (mut lineage, siblings) = (named(true), named(false));
    // The most specific names have priority.
    lineage.reverse();
    let radius = |item: &Item| if item.on_lineage { 5.0 } else { 2.6 };
    let mut taken: Vec<_> = items().map(|(item, at)| (*at, radius(item))).collect();
    let frame = [2.0, 2.0, COLUMN - 2.0, HEIGHT - 2.0];
    // The lineage is always named, siblings only if nothing is hidden.
    let placed = labels::place(&lineage, frame, &taken, Crowded::Shown);
    taken.extend(placed.iter().flat_map(|p| corners(p.area)));
    for p in &placed {
        let colours = [theme.ink(), theme.muted()];
        key::label(canvas, p, &lineage[p.label], colours);
    }
    for p in labels::place(&siblings, frame, &taken, Crowded::LeftOut(0)) {
        let colours = [theme.muted(), theme.faint()];
        key::label(canvas, &p, &siblings[p.label], colours);
    }
}

/// Points dense enough in an area that no label fits between them.
fn corners(area: [f64; 4]) -> Vec<([f64; 2], f64)> {
    let steps = ((area[2] - area[0]) / 6.0).ceil().max(1.0) as usize;
    let y = (area[1] + area[3]) / 2.0;
    (0..=steps)
        .map(|i| area[0] + (area[2] - area[0]) * i as f64 / steps as f64)
        .map(|x| ([x, y], (area[3] - area[1]) / 2.0))
        .collect()
}

fn legend(canvas: &mut Canvas, last: usize) {
    let theme = canvas.theme();
    let y = HEIGHT + FOOT / 2.0;
    let steps = (last + 1).min(RANKS.len());
    let middle = COLUMN / 2.0;
    let left = middle - 10.0 * (steps as f64 - 1.0) / 2.0;
    for i in 0..steps {
        let at = [left + 10.0 * i as f64, y];
        canvas.circle(at, 3.2, Paint::fill(colour(theme, i, steps - 1)));
    }
    let word = |at, text: &str, anchor| Text::secondary(at, text, theme).anchor(anchor);
    canvas.text(&word([left - 9.0, y], "general", Anchor::End));
    let right = left + 10.0 * (steps as f64 - 1.0) + 9.0;
    canvas.text(&word([right, y], "specific", Anchor::Start));
}
