//! Thin axes: a line, short ticks outward, numbers, and a name.

use super::canvas::Canvas;
use super::font::{Weight, width};
use super::paint::Paint;
use super::scale::Scale;
use super::size::SMALL;
use super::text::{Anchor, Text};

/// Length of a tick.
const TICK: f64 = 3.0;

/// Width of axis lines.
pub const THIN: f64 = 0.75;

/// A horizontal axis at height `y` with its name below.
pub fn below(canvas: &mut Canvas, scale: &Scale, y: f64, name: &str, ticks: usize) {
    let theme = canvas.theme();
    let paint = Paint::stroke(theme.muted(), THIN);
    let [left, right] = scale.range();
    canvas.line([left, y], [right, y], paint);
    for (value, label) in scale.ticks(ticks) {
        let x = scale.at(value);
        canvas.line([x, y], [x, y + TICK], paint);
        let text = Text::secondary([x, y + TICK + 7.0], label, theme);
        canvas.text(&text.anchor(Anchor::Middle));
    }
    let middle = (left + right) / 2.0;
    canvas.text(&Text::new([middle, y + TICK + 21.0], name).anchor(Anchor::Middle));
}

/// A vertical axis at `x` with its name above it, written horizontally.
pub fn left(canvas: &mut Canvas, scale: &Scale, x: f64, name: &str, ticks: usize) {
    let theme = canvas.theme();
    let paint = Paint::stroke(theme.muted(), THIN);
    let [bottom, top] = scale.range();
    canvas.line([x, bottom], [x, top], paint);
    let mut widest: f64 = 0.0;
    for (value, label) in scale.ticks(ticks) {
        let y = scale.at(value);
        canvas.line([x, y], [x - TICK, y], paint);
        widest = widest.max(width(&label, SMALL, Weight::Regular));
        let text = Text::secondary([x - TICK - 3.0, y], label, theme);
        canvas.text(&text.anchor(Anchor::End));
    }
    let middle = (bottom + top) / 2.0;
    let at = [x - TICK - 3.0 - widest - 9.0, middle];
    canvas.text(&Text::new(at, name).anchor(Anchor::Middle).upward());
}
