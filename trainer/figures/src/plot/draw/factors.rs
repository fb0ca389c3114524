//! Three rows of bars over the same factors.

use crate::figure::font::{Weight, fit, width as text_width};
use crate::figure::scale::bounds;
use crate::figure::size::{BODY, COLUMN, SMALL};
use crate::figure::theme::Colour;
use crate::figure::{Anchor, Canvas, Paint, Scale, Text, Theme, axes};
use crate::plot::factors::{Activation, Factors};

const LEFT: f64 = 46.0;
const RIGHT: f64 = COLUMN - 8.0;
const HEAD: f64 = 20.0;
const ROW: f64 = 66.0;
const GAP: f64 = 8.0;
const FOOT: f64 = 42.0;

/// Returns the paint of a factor's bar: the strongest factor of each concept has a colour.
fn bar(theme: Theme, strongest: [usize; 2], factor: usize) -> Paint {
    match strongest.iter().position(|other| *other == factor) {
        Some(concept) => Paint::fill(theme.series(concept)),
        None => Paint::fill(theme.muted()).opacity(0.45),
    }
}

/// Draws the factors of two concepts and of their composition.
pub fn factors(data: &Factors, theme: Theme) -> Canvas {
    let height = 3.0 * (HEAD + ROW) + 2.0 * GAP + FOOT;
    let title = format!("Factors of {} in {}", data.texts[2].text, data.model);
    let mut canvas = Canvas::new(COLUMN, height, theme, &title);
    let count = data.largest.len();
    let x = Scale::new([0.5, count as f64 + 0.5], [LEFT, RIGHT]);
    let norms = data.texts.iter().flat_map(|t| t.norms.iter().copied());
    let top = bounds(norms.chain([1e-9])).map_or(1.0, |b| b[1]);
    let strongest = [data.texts[0].strongest, data.texts[1].strongest];
    for (i, text) in data.texts.iter().enumerate() {
        let above = i as f64 * (HEAD + ROW + GAP) + HEAD;
        let y = Scale::new([0.0, 1.2 * top], [above + ROW, above]);
        let width = 0.7 * (RIGHT - LEFT) / count.max(1) as f64;
        row(&mut canvas, text, (&x, &y), width, strongest);
        let name = if i == 1 { "norm of the factor" } else { "" };
        axes::left(&mut canvas, &y, LEFT, name, 2);
        let ink = [theme.series(0), theme.series(1), theme.ink()][i];
        heading(&mut canvas, data, i, above - HEAD / 2.0, ink);
        if i == 2 {
            maxima(&mut canvas, data, (&x, &y), width);
            axes::below(&mut canvas, &x, above + ROW, "factor", 6);
        } else {
            let paint = Paint::stroke(theme.muted(), axes::THIN);
            canvas.line([LEFT, above + ROW], [RIGHT, above + ROW], paint);
            mark(&mut canvas, text, (&x, &y), ink);
        }
    }
    canvas
}

fn heading(canvas: &mut Canvas, data: &Factors, at: usize, y: f64, colour: Colour) {
    let theme = canvas.theme();
    let note = match (at, data.correlation) {
        (2, Some(r)) => format!("— larger of both, r = {r:.2}").replace('-', "\u{2212}"),
        (2, None) => "— larger of both".to_owned(),
        _ => String::new(),
    };
    let room = RIGHT - LEFT - text_width(&note, SMALL, Weight::Regular) - 8.0;
    let title = fit(&data.texts[at].text, BODY, Weight::Bold, room);
    canvas.text(&Text::new([LEFT, y], title).bold().colour(colour));
    if !note.is_empty() {
        canvas.text(&Text::secondary([RIGHT, y], note, theme).anchor(Anchor::End));
    }
}

fn row(
    canvas: &mut Canvas,
    text: &Activation,
    (x, y): (&Scale, &Scale),
    width: f64,
    strongest: [usize; 2],
) {
    let theme = canvas.theme();
    for (factor, norm) in text.norms.iter().enumerate() {
        let middle = x.at((factor + 1) as f64);
        let (top, bottom) = (y.at(*norm), y.at(0.0));
        let rect = [middle - width / 2.0, top, width, bottom - top];
        canvas.rect(rect, bar(theme, strongest, factor));
    }
}

/// The number of a concept's strongest factor above its bar.
fn mark(canvas: &mut Canvas, text: &Activation, (x, y): (&Scale, &Scale), colour: Colour) {
    let Some(norm) = text.norms.get(text.strongest) else {
        return;
    };
    let at = x.at((text.strongest + 1) as f64);
    let label = format!("factor {}", text.strongest + 1);
    let half = text_width(&label, SMALL, Weight::Regular) / 2.0;
    let place = [at.clamp(LEFT + half + 2.0, RIGHT - half), y.at(*norm) - 6.0];
    let text = Text::new(place, label).size(SMALL).colour(colour);
    canvas.text(&text.anchor(Anchor::Middle));
}

fn maxima(canvas: &mut Canvas, data: &Factors, (x, y): (&Scale, &Scale), width: f64) {
    let ink = canvas.theme().ink();
    for (factor, norm) in data.largest.iter().enumerate() {
        let (middle, height) = (x.at((factor + 1) as f64), y.at(*norm));
        let half = 0.75 * width;
        let (from, to) = ([middle - half, height], [middle + half, height]);
        canvas.line(from, to, Paint::stroke(ink, 1.0));
    }
}
