//! A taxonomy in the Poincaré disk.

use super::key;
use crate::figure::axes::THIN;
use crate::figure::font::Weight;
use crate::figure::labels::{self, Crowded, Label};
use crate::figure::size::{BODY, COLUMN, SMALL};
use crate::figure::theme::Colour;
use crate::figure::{Anchor, Canvas, Paint, Scale, Text, Theme};
use crate::plot::disk::{By, Centre, Disk, Dot};

/// Radius of the drawing and its middle.
const RADIUS: f64 = 168.0;
const MIDDLE: [f64; 2] = [COLUMN / 2.0, 176.0];

/// Maximum number of labels that are tried.
const LABELS: usize = 32;

/// Maximum number of small nodes that a label may cover.
const COVERED: usize = 1;

/// Mapping from the disk to the canvas; the visible part of the disk has radius `reach`.
struct View {
    reach: f64,
}

impl View {
    /// Shows the whole disk if points come near its rim, otherwise only the part that holds all
    /// points.
    fn of(data: &Disk) -> Self {
        let dots = data.nodes.iter().chain(&data.photos).map(|d| d.at);
        let norms = dots.chain(data.root).map(|p| p[0].hypot(p[1]));
        let farthest = norms.fold(0.0, f64::max);
        let reach = (1.06 * farthest).max(0.02);
        Self {
            reach: if reach > 0.94 { 1.0 } else { reach },
        }
    }

    fn at(&self, p: [f64; 2]) -> [f64; 2] {
        let scale = RADIUS / self.reach;
        [MIDDLE[0] + scale * p[0], MIDDLE[1] - scale * p[1]]
    }

    fn length(&self, disk: f64) -> f64 {
        disk * RADIUS / self.reach
    }
}

fn colour(theme: Theme, dot: &Dot) -> Colour {
    dot.branch.map_or(theme.muted(), |b| theme.series(b))
}

/// Returns the size of a node by its number of labels.
fn size(dot: &Dot) -> f64 {
    1.5 + 0.55 * (dot.labels.max(1) as f64).ln()
}

/// Draws the disk.
pub fn disk(data: &Disk, theme: Theme) -> Canvas {
    let entries = data.branches.iter().zip(0..);
    let entries = entries.map(|(name, i)| (name.as_str(), theme.series(i)));
    let entries: Vec<(&str, Colour)> = entries.collect();
    let top = MIDDLE[1] + RADIUS + 18.0;
    // Measures on a temporary canvas: the height must be known first.
    let mut trial = Canvas::new(COLUMN, top, theme, "");
    let foot = key::row(&mut trial, [8.0, top], &entries, COLUMN - 8.0);
    let title = format!("Taxonomy in the Poincaré disk of {}", data.model);
    let mut canvas = Canvas::new(COLUMN, top + foot + 12.0, theme, &title);
    let view = View::of(data);
    let rings = rings(&mut canvas, &view);
    edges(&mut canvas, data, &view);
    dots(&mut canvas, data, &view);
    distances(&mut canvas, &rings);
    names(&mut canvas, data, &view, &rings);
    key::row(&mut canvas, [8.0, top], &entries, COLUMN - 8.0);
    let at = [8.0, top + foot + 2.0];
    canvas.text(&Text::secondary(at, note(data), theme));
    canvas
}

fn note(data: &Disk) -> String {
    let by = match data.kept {
        Some(kept) => format!("HoroPCA, {:.0} % of squared distances kept", 100.0 * kept),
        None => "CO-SNE".to_owned(),
    };
    let middle = match (data.by, data.centre) {
        (By::Horopca, Centre::Root) => "the root",
        (By::Horopca, Centre::Mean) => "the mean",
        (By::Cosne, _) => "the middle",
    };
    let factor = data.factor.map(|f| format!("; factor {f}"));
    let factor = factor.unwrap_or_default();
    format!("{by}{factor}; rings: distance to {middle}")
}

/// Circles of equal distance to the middle, and the rim if it is visible; returns their radii on
/// the canvas and their distances.
fn rings(canvas: &mut Canvas, view: &View) -> Vec<(f64, String)> {
    let mut out = Vec::new();
    let theme = canvas.theme();
    if view.reach >= 1.0 {
        canvas.circle(MIDDLE, RADIUS, Paint::stroke(theme.muted(), THIN));
    }
    // 2 atanh of the reach; infinite for the whole disk.
    let shown = view.reach.min(0.99);
    let farthest = (2.0 * shown / (1.0 - shown)).ln_1p();
    let ticks = Scale::new([0.0, farthest], [0.0, 1.0]).ticks(3);
    for (distance, label) in ticks.into_iter().skip(1) {
        let radius = view.length((distance / 2.0).tanh());
        if radius > RADIUS - 5.0 && view.reach >= 1.0 {
            continue;
        }
        canvas.circle(MIDDLE, radius, Paint::stroke(theme.faint(), 0.7));
        out.push((radius, label));
    }
    out
}

/// Labels of the circles with their distances, drawn over everything else.
fn distances(canvas: &mut Canvas, rings: &[(f64, String)]) {
    let muted = canvas.theme().muted();
    for (radius, label) in rings {
        let at = [MIDDLE[0], MIDDLE[1] + radius];
        let text = Text::new(at, label.as_str()).size(7.5).colour(muted);
        canvas.text(&text.anchor(Anchor::Middle).halo());
    }
}

/// Edges along geodesics: circular arcs orthogonal to the rim.
fn edges(canvas: &mut Canvas, data: &Disk, view: &View) {
    let theme = canvas.theme();
    for node in &data.nodes {
        let Some(parent) = node.parent.and_then(|i| data.nodes.get(i)) else {
            continue;
        };
        let paint = Paint::stroke(colour(theme, node), 0.5).opacity(0.35);
        let (from, to) = (view.at(parent.at), view.at(node.at));
        match geodesic(parent.at, node.at) {
            Some((radius, right)) => canvas.arc(from, to, view.length(radius), right, paint),
            None => canvas.line(from, to, paint),
        }
    }
}

/// Returns the radius of the circle through two points that is orthogonal to the unit circle, and
/// whether the arc from the first to the second turns right on a canvas whose y points downward;
/// `None` if the arc is almost straight.
fn geodesic(p: [f64; 2], q: [f64; 2]) -> Option<(f64, bool)> {
    // The centre m satisfies 2 <m, p> = 1 + |p|^2, and the same for q.
    let cross = p[0] * q[1] - p[1] * q[0];
    if cross.abs() < 1e-4 {
        return None;
    }
    let right_side = |a: [f64; 2]| (1.0 + a[0] * a[0] + a[1] * a[1]) / 2.0;
    let (sp, sq) = (right_side(p), right_side(q));
    let m = [
        (sp * q[1] - sq * p[1]) / cross,
        (sq * p[0] - sp * q[0]) / cross,
    ];
    let radius = (m[0] * m[0] + m[1] * m[1] - 1.0).max(0.0).sqrt();
    // The origin lies outside the circle, so the short arc bends toward it.
    Some((radius, cross > 0.0))
}

fn dots(canvas: &mut Canvas, data: &Disk, view: &View) {
    let theme = canvas.theme();
    for photo in &data.photos {
        let paint = Paint::stroke(colour(theme, photo), 0.8).opacity(0.8);
        canvas.circle(view.at(photo.at), 1.8, paint);
    }
    let mut nodes: Vec<&Dot> = data.nodes.iter().collect();
    // Draws small nodes over large ones.
    nodes.sort_by_key(|d| std::cmp::Reverse(d.labels));
    for node in nodes {
        let paint = Paint::fill(colour(theme, node)).outlined(theme.paper(), 0.5);
        canvas.circle(view.at(node.at), size(node), paint);
    }
    let Some(root) = data.root.map(|p| view.at(p)) else {
        return;
    };
    let paint = Paint::fill(theme.paper()).outlined(theme.ink(), 1.2);
    canvas.circle(root, 3.4, paint);
}

/// Returns the broadest nodes, broadest first. Of nodes with the same labels below them, only the
/// most specific is informative.
fn named(data: &Disk) -> Vec<&Dot> {
    let is_repeated = |(i, node): &(usize, &Dot)| {
        let same = |d: &Dot| d.parent == Some(*i) && d.labels == node.labels;
        data.nodes.iter().any(same)
    };
    let nodes = data.nodes.iter().enumerate();
    let nodes = nodes.filter(|node| !is_repeated(node));
    let mut nodes: Vec<&Dot> = nodes.map(|(_, node)| node).collect();
    nodes.sort_by_key(|d| std::cmp::Reverse(d.labels));
    nodes.truncate(LABELS);
    // Two concepts may share a name, which is shown once.
    let mut seen = std::collections::BTreeSet::new();
    nodes.retain(|d| seen.insert(d.name.as_str()));
    nodes
}

/// Draws the labels of the broad nodes and of the root.
fn names(canvas: &mut Canvas, data: &Disk, view: &View, rings: &[(f64, String)]) {
    let theme = canvas.theme();
    let nodes = named(data);
    let root = data.root.map(|p| view.at(p));
    let of_root = root.map(|at| Label {
        at,
        text: "root".into(),
        size: BODY,
        weight: Weight::Bold,
        gap: 6.0,
    });
    let roots = usize::from(of_root.is_some());
    let mut labels: Vec<Label> = of_root.into_iter().collect();
    labels.extend(nodes.iter().map(|d| Label {
        at: view.at(d.at),
        text: d.name.clone(),
        size: SMALL,
        weight: Weight::Regular,
        gap: size(d) + 2.5,
    }));
    // A ring's distance counts for more than a label may cover.
    let taken = rings.iter().flat_map(|(radius, _)| {
        let at = [MIDDLE[0], MIDDLE[1] + radius];
        std::iter::repeat_n((at, 7.0), COVERED + 1)
    });
    let nodes_at = data.nodes.iter().map(|d| (view.at(d.at), size(d)));
    let points = nodes_at.chain(root.map(|at| (at, 4.0))).chain(taken);
    let points: Vec<([f64; 2], f64)> = points.collect();
    let frame = [2.0, 2.0, COLUMN - 2.0, MIDDLE[1] + RADIUS + 4.0];
    for placed in labels::place(&labels, frame, &points, Crowded::LeftOut(COVERED)) {
        let ink = match placed.label.checked_sub(roots) {
            None => theme.ink(),
            Some(i) => colour(theme, nodes[i]),
        };
        key::label(canvas, &placed, &labels[placed.label], [ink, ink]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_geodesic_meets_the_rim_at_right_angles() {
        // Between two ideal points at a right angle: radius 1, around (1, 1).
        let (radius, right) = geodesic([1.0, 0.0], [0.0, 1.0]).unwrap();
        assert!((radius - 1.0).abs() < 1e-12);
        // Seen from above with y upward it turns left around (1, 1).
        assert!(right);
        // Through the middle.
        assert_eq!(geodesic([0.2, 0.1], [-0.4, -0.2]), None);
    }
}
