//! The walk from a photo to the root or to another photo, with a caption at each point (notation
//! 6.10).

use serde::{Deserialize, Serialize};

use super::captioner::Captioner;
use super::reading::Reading;
use super::result::Rung;
use super::standing::shown_rungs;
use crate::geometry::interpolation;

/// A point of the walk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraversalPoint {
    /// Position on the walk, from 0 at the start to 1 at the end.
    pub share: f64,
    /// Distance to the root.
    pub radius: f64,
    /// The caption at this point; `None` above the most general caption.
    pub text: Option<String>,
    /// Taxonomy node that the caption describes.
    pub node: Option<String>,
    /// The point itself.
    #[serde(skip)]
    pub point: Vec<f32>,
}

impl Captioner {
    /// Returns `steps` points (at least two), evenly spaced on the walk from a photo to another
    /// photo or to the root.
    ///
    /// Its captions are rungs of the photos' ladders: it begins with the last rung shown for
    /// `from`, becomes more general as the radius falls, and ends with the last rung shown for
    /// `to`, or at the root.
    #[must_use]
    pub fn walk(&self, from: &Reading, to: Option<&Reading>, steps: usize) -> Vec<TraversalPoint> {
        let space = self.space();
        let ends = [Some(from), to].map(|end| end.map(|end| Ladder::of(self, end)));
        let last = steps.max(2) - 1;
        let point_at = |step: usize| {
            let share = step as f64 / last as f64;
            let target = to.map(|to| to.embedding.as_slice());
            let point = interpolation::between(space, &from.embedding, target, share);
            let radius = space.radius(&point);
            // The nearer photo describes the point.
            let ladder = match &ends {
                [_, Some(to)] if share > 0.5 => Some(to),
                [from, _] => from.as_ref(),
            };
            let rung = ladder.and_then(|ladder| ladder.rung_at(radius));
            TraversalPoint {
                share,
                radius,
                text: rung.map(|rung| rung.text.clone()),
                node: rung.and_then(|rung| rung.node.clone()),
                point,
            }
        };
        (0..=last).map(point_at).collect()
    }
}

/// The rungs shown for a photo, and the photo's radius.
struct Ladder<'a> {
    rungs: Vec<&'a Rung>,
    radius: f64,
}

impl<'a> Ladder<'a> {
    fn of(captioner: &Captioner, reading: &'a Reading) -> Self {
        let caption = &reading.caption;
        Self {
            rungs: shown_rungs(&caption.ladder, &caption.taxonomy),
            radius: captioner.space().radius(&reading.embedding),
        }
    }

    /// Returns the most specific rung within `radius`, where the last rung's radius counts as that
    /// of the photo: texts and photos lie at different distances from the root.
    fn rung_at(&self, radius: f64) -> Option<&'a Rung> {
        let end = self.rungs.last()?.radius;
        // Rounding must not hide the last rung at the photo itself.
        let reach = radius / self.radius.max(1e-9) * end * (1.0 + 1e-6);
        let within = self.rungs.iter().rev().find(|rung| rung.radius <= reach);
        within.copied()
    }
}
