//! Captions along a path through the embedding space, from a photo to the root or to another photo
//! (notation 6.10).

use serde::{Deserialize, Serialize};

use super::captioner::Captioner;
use crate::geometry::{Space, interpolation};

/// A point of the path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraversalPoint {
    /// Position on the path, from 0 at the start to 1 at the end.
    pub share: f64,
    /// Distance to the root.
    pub radius: f64,
    /// The nearest caption; `None` if the root is nearer.
    pub text: Option<String>,
    /// Taxonomy node that the caption describes.
    pub node: Option<String>,
    /// The point itself.
    #[serde(skip)]
    pub point: Vec<f32>,
}

impl Captioner {
    /// Returns `steps` points (at least two), evenly spaced on the path from a photo to another
    /// photo or to the root, each with the caption that scores highest there.
    #[must_use]
    pub fn traverse(&self, from: &[f32], to: Option<&[f32]>, steps: usize) -> Vec<TraversalPoint> {
        let space = self.space();
        let root = match space {
            Space::Sphere { root } => root.clone(),
            _ => vec![0.0; from.len()],
        };
        let last = steps.max(2) - 1;
        let point_at = |step: usize| {
            let share = step as f64 / last as f64;
            let point = interpolation::between(space, from, to, share);
            let scores = self.index().scores(space, &point);
            let best = (0..scores.len()).max_by(|a, b| scores[*a].total_cmp(&scores[*b]));
            let best = best.filter(|i| scores[*i] >= space.score(&root, &point));
            let entry = best.map(|i| &self.index().entries()[i]);
            TraversalPoint {
                share,
                radius: space.radius(&point),
                text: entry.map(|e| e.text.clone()),
                node: entry.and_then(|e| e.node.clone()),
                point,
            }
        };
        (0..=last).map(point_at).collect()
    }
}
