//! The candidates that a walk through the embedding space passes: from a photo to the root, or to
//! another photo (notation 6.10).

use espalier_core::geometry::{Space, interpolation};
use serde::Serialize;

use crate::figure::Thumbnail;

/// A candidate of a walk.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The text, or the name of the image.
    pub name: String,
    /// Its point.
    pub point: Vec<f32>,
    /// A thumbnail, for images.
    pub thumbnail: Option<Thumbnail>,
}

/// The route of a walk and its options.
#[derive(Clone, Copy, Debug)]
pub struct Route<'a> {
    /// Its start.
    pub from: &'a [f32],
    /// Its end; the root if `None`.
    pub to: Option<&'a [f32]>,
    /// Number of points of the walk, at least 2.
    pub steps: usize,
    /// Whether a candidate must entail the point that it is retrieved for (MERU).
    pub entailment: bool,
}

/// A candidate that a walk passes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stop {
    /// The text, or the name of the image.
    pub name: String,
    /// Whether it is an image.
    pub image: bool,
    /// Index among the candidates; `None` for the root.
    #[serde(skip)]
    pub candidate: Option<usize>,
    /// Fraction of the route at which it is the best for the first time, 0 at the start.
    pub share: f64,
    /// Number of points of the walk for which it is the best.
    pub steps: usize,
    /// Its distance to the root.
    pub radius: f64,
    /// Its score at the first of them.
    pub score: f64,
}

/// Data of the figure.
#[derive(Clone, Debug, Serialize)]
pub struct Traversal {
    /// Model.
    pub model: String,
    /// Photo at the start of the walk.
    pub from: String,
    /// Photo at its end; the root if `None`.
    pub to: Option<String>,
    /// Number of points of the walk.
    pub steps: usize,
    /// Number of candidates, without the root.
    pub candidates: usize,
    /// Whether candidates had to entail their point.
    pub entailment: bool,
    /// The stops in order, without repetition.
    pub stops: Vec<Stop>,
}

/// Name of the root.
pub const ROOT: &str = "[root]";

/// Returns the point of the root.
fn root(space: &Space, width: usize) -> Vec<f32> {
    match space {
        Space::Sphere { root } => root.clone(),
        _ => vec![0.0; width],
    }
}

/// Walks along a route and records the best candidate at each point, each candidate once.
///
/// The score is the model's ([`Space::score`]). The root is a candidate too; it is the only one
/// that need not entail the point.
pub fn stops(space: &Space, candidates: &[Candidate], route: Route<'_>) -> Vec<Stop> {
    let root = root(space, route.from.len());
    let mut found: Vec<Stop> = Vec::new();
    for step in 0..route.steps {
        let share = step as f64 / (route.steps.max(2) - 1) as f64;
        let point = interpolation::between(space, route.from, route.to, share);
        let allowed = |c: &Candidate| !route.entailment || space.entails(&c.point, &point);
        let scored = candidates.iter().enumerate().filter(|(_, c)| allowed(c));
        let scored = scored.map(|(i, c)| (Some(i), space.score(&c.point, &point)));
        let of_root = std::iter::once((None, space.score(&root, &point)));
        let best = scored.chain(of_root).max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((candidate, score)) = best else {
            continue;
        };
        let name = candidate.map_or(ROOT, |i| &candidates[i].name);
        // Two candidates may have the same text.
        match found.iter_mut().find(|s| s.name == name) {
            Some(known) => known.steps += 1,
            None => found.push(Stop {
                name: name.to_owned(),
                image: candidate.is_some_and(|i| candidates[i].thumbnail.is_some()),
                candidate,
                share,
                steps: 1,
                radius: space.radius(candidate.map_or(&root[..], |i| &candidates[i].point)),
                score,
            }),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(name: &str, x: f32, y: f32) -> Candidate {
        Candidate {
            name: name.into(),
            point: vec![x, y],
            thumbnail: None,
        }
    }

    fn names(stops: &[Stop]) -> Vec<&str> {
        stops.iter().map(|s| s.name.as_str()).collect()
    }

    const SPACE: Space = Space::Lorentz { curvature: 1.0 };

    const TO_ROOT: Route<'static> = Route {
        from: &[5.0, 0.0],
        to: None,
        steps: 50,
        entailment: false,
    };

    #[test]
    fn a_walk_to_the_root_passes_what_lies_between_and_ends_at_the_root() {
        let candidates = [
            candidate("off the way", -2.0, 2.0),
            candidate("an animal", 0.8, 0.0),
            candidate("a bird", 2.5, 0.1),
            candidate("an animal", 0.81, 0.0),
        ];
        let found = stops(&SPACE, &candidates, TO_ROOT);
        assert_eq!(names(&found), ["a bird", "an animal", ROOT]);
        assert_eq!(found.iter().map(|s| s.steps).sum::<usize>(), 50);
        assert_eq!(found[0].share, 0.0);
        assert!(found.windows(2).all(|w| w[0].share < w[1].share));
        assert!(found.windows(2).all(|w| w[0].radius > w[1].radius));
    }

    #[test]
    fn with_entailment_only_what_holds_the_point_in_its_cone_is_passed() {
        let candidates = [candidate("beside", 2.4, 1.2), candidate("before", 0.5, 0.0)];
        let route = |entailment| Route {
            steps: 30,
            entailment,
            ..TO_ROOT
        };
        let passed = stops(&SPACE, &candidates, route(false));
        assert!(names(&passed).contains(&"beside"));
        let passed = stops(&SPACE, &candidates, route(true));
        assert_eq!(names(&passed), ["before", ROOT]);
    }

    #[test]
    fn a_walk_between_photos_ends_at_the_second() {
        let candidates = [candidate("first", 3.0, 0.0), candidate("second", 0.0, 3.0)];
        let route = Route {
            from: &[3.0, 0.0],
            to: Some(&[0.0, 3.0]),
            ..TO_ROOT
        };
        let found = stops(&SPACE, &candidates, route);
        assert_eq!(names(&found).first(), Some(&"first"));
        assert_eq!(names(&found).last(), Some(&"second"));
    }
}
