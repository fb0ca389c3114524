//! What a walk through the embedding space passes: captions on the way from a photo to the root or
//! to another photo (notation 6.10).

use serde::{Deserialize, Serialize};

use super::captioner::Captioner;
use crate::geometry::{Space, walk};

/// A point of a walk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Passed {
    /// Share of the way, from 0 at the start to 1 at the end.
    pub share: f64,
    /// Distance to the root.
    pub radius: f64,
    /// The nearest caption; none where the root itself is nearer.
    pub text: Option<String>,
    /// Concept that the caption speaks of.
    pub node: Option<String>,
    /// The point itself.
    #[serde(skip)]
    pub point: Vec<f32>,
}

impl Captioner {
    /// `steps` points, at least two, evenly along the way from a photo to another or to the root,
    /// each with the caption that scores highest there.
    #[must_use]
    pub fn walk(&self, from: &[f32], to: Option<&[f32]>, steps: usize) -> Vec<Passed> {
        let space = self.space();
        let root = match space {
            Space::Sphere { root } => root.clone(),
            _ => vec![0.0; from.len()],
        };
        let last = steps.max(2) - 1;
        let pass = |step: usize| {
            let share = step as f64 / last as f64;
            let point = walk::between(space, from, to, share);
            let scores = self.index().scores(space, &point);
            let best = (0..scores.len()).max_by(|a, b| scores[*a].total_cmp(&scores[*b]));
            let best = best.filter(|i| scores[*i] >= space.score(&root, &point));
            let entry = best.map(|i| &self.index().entries()[i]);
            Passed {
                share,
                radius: space.radius(&point),
                text: entry.map(|e| e.text.clone()),
                node: entry.and_then(|e| e.node.clone()),
                point,
            }
        };
        (0..=last).map(pass).collect()
    }
}
