//! A walk from top to bottom: its start, its stops and its end.

use crate::figure::axes::THIN;
use crate::figure::font::{Weight, wrap};
use crate::figure::labels::spread;
use crate::figure::scale::bounds;
use crate::figure::size::{BODY, COLUMN};
use crate::figure::{Anchor, Canvas, Paint, Text, Theme, Thumbnail};
use crate::plot::traversal::{Candidate, Stop, Traversal};

const TOP: f64 = 30.0;
const FOOT: f64 = 14.0;
/// Box of the photos at the ends.
const PHOTO: f64 = 104.0;
/// Position of the track.
const TRACK: f64 = 130.0;
/// Left and right end of the stops.
const LABELS: [f64; 2] = [158.0, COLUMN - 44.0];
/// Height of a line of text and of a thumbnail with its margins.
const LINE: f64 = 12.0;
const GAP: f64 = 6.0;
const SMALL_PHOTO: f64 = 44.0;

/// Content shown next to a walk.
pub struct Shown<'a> {
    /// Photo at its start.
    pub from: &'a Thumbnail,
    /// Photo at its end.
    pub to: Option<&'a Thumbnail>,
    /// Candidates of the walk.
    pub candidates: &'a [Candidate],
}

/// A stop with its lines and its image.
struct Entry<'a> {
    stop: &'a Stop,
    lines: Vec<String>,
    thumbnail: Option<&'a Thumbnail>,
}

impl<'a> Entry<'a> {
    fn new(stop: &'a Stop, candidates: &'a [Candidate]) -> Self {
        let candidate = stop.candidate.map(|i| &candidates[i]);
        let thumbnail = candidate.and_then(|candidate| candidate.thumbnail.as_ref());
        let room = LABELS[1] - LABELS[0] - if thumbnail.is_some() { 60.0 } else { 0.0 };
        Self {
            stop,
            lines: wrap(&stop.name, BODY, Weight::Regular, room, 3),
            thumbnail,
        }
    }

    fn height(&self) -> f64 {
        match self.thumbnail {
            Some(_) => SMALL_PHOTO + GAP,
            None => self.lines.len() as f64 * LINE + GAP,
        }
    }
}

/// Draws a walk.
pub fn traversal(data: &Traversal, shown: &Shown<'_>, theme: Theme) -> Canvas {
    let entry = |stop| Entry::new(stop, shown.candidates);
    let entries: Vec<Entry<'_>> = data.stops.iter().map(entry).collect();
    let heights: Vec<f64> = entries.iter().map(Entry::height).collect();
    let height = |photo: &Thumbnail| photo.within(PHOTO, PHOTO)[1];
    let ends = height(shown.from) + shown.to.map_or(40.0, |photo| height(photo) + 20.0);
    let length = (1.15 * heights.iter().sum::<f64>()).max(ends).max(180.0);
    let end = data.to.as_deref().unwrap_or("the root");
    let title = format!("From {} to {end} through {}", data.from, data.model);
    let mut canvas = Canvas::new(COLUMN, TOP + length + FOOT, theme, &title);
    track(&mut canvas, shown, length);
    let preferred = data.stops.iter().map(|stop| TOP + stop.share * length);
    let preferred: Vec<f64> = preferred.collect();
    // Half a label may extend above and below the track.
    let places = spread(&preferred, &heights, TOP - 8.0, TOP + length + 8.0);
    let digits = digits(data);
    for (entry, (preferred, y)) in entries.iter().zip(preferred.iter().zip(places)) {
        leader(&mut canvas, *preferred, y);
        passed(&mut canvas, entry, y, digits);
    }
    let head = |x: f64, text: &str| Text::secondary([x, 10.0], text, theme);
    canvas.text(&head(LABELS[0], "nearest on the path"));
    canvas.text(&head(COLUMN - 8.0, "radius").anchor(Anchor::End));
    canvas
}

fn track(canvas: &mut Canvas, shown: &Shown<'_>, length: f64) {
    let theme = canvas.theme();
    let bottom = TOP + length;
    let paint = Paint::stroke(theme.muted(), THIN);
    canvas.line([TRACK, TOP], [TRACK, bottom], paint);
    let [width, height] = shown.from.within(PHOTO, PHOTO);
    canvas.photo([8.0, TOP - 4.0, width, height], shown.from);
    match shown.to {
        Some(photo) => {
            let [width, height] = photo.within(PHOTO, PHOTO);
            canvas.photo([8.0, bottom + 4.0 - height, width, height], photo);
        }
        None => {
            let text = Text::new([TRACK - 10.0, bottom], "root").bold();
            canvas.text(&text.anchor(Anchor::End));
        }
    }
    canvas.circle([TRACK, TOP], 3.0, Paint::fill(theme.ink()));
    let paint = Paint::fill(theme.paper()).outlined(theme.ink(), 1.2);
    canvas.circle([TRACK, bottom], 3.0, paint);
}

fn leader(canvas: &mut Canvas, from: f64, to: f64) {
    let paint = Paint::stroke(canvas.theme().muted(), 0.6);
    let places = [
        [TRACK, from],
        [TRACK + 6.0, from],
        [LABELS[0] - 10.0, to],
        [LABELS[0] - 4.0, to],
    ];
    canvas.polyline(&places, paint);
}

/// Returns the number of decimals of the radii, enough to distinguish those of a walk.
fn digits(data: &Traversal) -> usize {
    let [low, high] = bounds(data.stops.iter().map(|s| s.radius)).unwrap_or([0.0, 1.0]);
    let spread = (high - low).max(1e-4);
    ((1.5 - spread.log10()).floor() as usize).clamp(2, 5)
}

fn passed(canvas: &mut Canvas, entry: &Entry<'_>, y: f64, digits: usize) {
    let theme = canvas.theme();
    let mut left = LABELS[0];
    if let Some(thumbnail) = entry.thumbnail {
        let [width, height] = thumbnail.within(SMALL_PHOTO * 1.3, SMALL_PHOTO);
        canvas.photo([left, y - height / 2.0, width, height], thumbnail);
        left += width + 6.0;
    }
    let first = y - LINE * (entry.lines.len().saturating_sub(1)) as f64 / 2.0;
    for (i, line) in entry.lines.iter().enumerate() {
        let at = [left, first + LINE * i as f64];
        let colour = match entry.stop.candidate {
            Some(_) => theme.ink(),
            None => theme.muted(),
        };
        canvas.text(&Text::new(at, line.as_str()).colour(colour));
    }
    let radius = format!("{:.digits$}", entry.stop.radius);
    let text = Text::secondary([COLUMN - 8.0, y], radius, theme);
    canvas.text(&text.anchor(Anchor::End));
}
