//! A photo, its captions by radius, and its path in the taxonomy.

use espalier_core::caption::PathStep;

use crate::figure::axes;
use crate::figure::font::{Weight, fit, width as text_width};
use crate::figure::scale::bounds;
use crate::figure::size::{BODY, SMALL};
use crate::figure::{Canvas, Paint, Scale, Text, Theme, Thumbnail};
use crate::plot::ladder::Ladder;

const WIDTH: f64 = 540.0;
const TOP: f64 = 12.0;
const PHOTO: f64 = 168.0;
/// The axis of radii.
const AXIS: [f64; 2] = [200.0, 376.0];
const RUNG: f64 = 19.0;
const FOOT: f64 = 42.0;
const LINE: f64 = 14.0;

/// Draws a ladder.
pub fn ladder(data: &Ladder, photo: &Thumbnail, theme: Theme) -> Canvas {
    let [width, height] = photo.within(PHOTO, PHOTO);
    let rungs = (data.rungs.len().max(1) as f64) * RUNG;
    let body = rungs.max(height - FOOT);
    let words = path_words(data);
    let path_top = TOP + (body + FOOT).max(height) + 14.0;
    let lines = 1.0 + words.last().map_or(0.0, |w| w.at[1]);
    let title = format!("Ladder of {} by {}", data.photo, data.model);
    let mut canvas = Canvas::new(WIDTH, path_top + LINE * lines + 4.0, theme, &title);
    canvas.photo([8.0, TOP, width, height], photo);
    let x = scale(data);
    let step = body / data.rungs.len().max(1) as f64;
    let dots = data.rungs.iter().enumerate();
    let dots = dots.map(|(i, rung)| [x.at(rung.radius), TOP + (i as f64 + 0.5) * step]);
    let dots: Vec<[f64; 2]> = dots.collect();
    // Stairs: a straight line to a dot far to the right would cross the words between.
    let stairs = dots
        .windows(2)
        .flat_map(|pair| [pair[0], [pair[0][0], pair[1][1]]]);
    let stairs: Vec<[f64; 2]> = stairs.chain(dots.last().copied()).collect();
    canvas.polyline(&stairs, Paint::stroke(theme.faint(), 1.2));
    for (rung, dot) in data.rungs.iter().zip(&dots) {
        canvas.circle(*dot, 3.2, Paint::fill(theme.series(0)));
        let room = WIDTH - 8.0 - dot[0] - 10.0;
        let text = fit(&rung.text, BODY, Weight::Regular, room);
        canvas.text(&Text::new([dot[0] + 10.0, dot[1]], text).halo());
    }
    let name = "radius: general to specific";
    axes::below(&mut canvas, &x, TOP + body, name, 4);
    draw_path(&mut canvas, &words, path_top);
    canvas
}

/// Returns the radii from below the first rung to the last; the photo's own is much larger and is
/// not drawn.
fn scale(data: &Ladder) -> Scale {
    let [low, high] = bounds(data.rungs.iter().map(|r| r.radius)).unwrap_or([0.0, 1.0]);
    let pad = 0.06 * (high - low).max(1e-3);
    Scale::new([low - pad, high + pad], AXIS)
}

/// A node of the path, with its horizontal position and line.
struct Word<'a> {
    step: &'a PathStep,
    at: [f64; 2],
    supported: bool,
    last: bool,
}

/// Gap between a name, its probability and the mark after them.
const SPACE: f64 = 4.0;

impl Word<'_> {
    fn weight(&self) -> Weight {
        if self.supported {
            Weight::Bold
        } else {
            Weight::Regular
        }
    }

    fn percent(&self) -> String {
        format!("{:.0} %", 100.0 * self.step.p)
    }

    /// Returns the offsets from its left end to the probability, to the mark and to the next word.
    fn stops(&self) -> [f64; 3] {
        let percent = text_width(&self.step.name, BODY, self.weight()) + SPACE;
        let mark = percent + text_width(&self.percent(), SMALL, Weight::Regular) + 1.5 * SPACE;
        let next = mark + text_width("›", BODY, Weight::Regular) + 1.5 * SPACE;
        [percent, mark, next]
    }
}

/// Returns the path broken into lines; nodes beyond the stop are not supported by the evidence.
fn path_words(data: &Ladder) -> Vec<Word<'_>> {
    let mut words: Vec<Word<'_>> = Vec::new();
    let (mut x, mut line, mut supported) = (8.0, 0.0, true);
    let path = data.informative_path();
    let last = path.len().saturating_sub(1);
    for (i, step) in path.into_iter().enumerate() {
        let mut word = Word {
            step,
            at: [x, line],
            supported,
            last: i == last,
        };
        let [_, _, width] = word.stops();
        if x > 8.0 && x + width > WIDTH - 4.0 {
            (x, line) = (8.0, line + 1.0);
            word.at = [x, line];
        }
        words.push(word);
        x += width;
        supported &= step.id != data.taxonomy.stop;
    }
    words
}

fn draw_path(canvas: &mut Canvas, words: &[Word<'_>], top: f64) {
    let theme = canvas.theme();
    for word in words {
        let (x, y) = (word.at[0], top + LINE * word.at[1]);
        let [percent, mark, _] = word.stops();
        let name = Text::new([x, y], word.step.name.as_str());
        canvas.text(&match word.weight() {
            Weight::Bold => name.bold(),
            Weight::Regular => name.colour(theme.muted()),
        });
        let at = [x + percent, y];
        canvas.text(&Text::secondary(at, word.percent(), theme));
        if !word.last {
            canvas.text(&Text::new([x + mark, y], "›").colour(theme.muted()));
        }
    }
}
