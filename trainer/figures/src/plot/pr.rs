//! Precision and recall of retrieving boxes by their images (notation 6.8).
//!
//! A model of visual hierarchies puts an image nearer to the root than its boxes. The boxes lie
//! straight outward from it, where `beta1` is `pi`.
//!
//! Queries are the images, candidates are the boxes of all of them. A box is relevant for a query
//! if its label occurs in the query's image. Pairs are ranked by the angle that visual hierarchies
//! train, `beta1 = pi - oxy(query, box)`, or by the cosine if the space is a sphere.

use std::collections::BTreeSet;
use std::f64::consts::PI;
use std::path::PathBuf;

use espalier_core::geometry::Space;
use espalier_eval::Record;
use espalier_eval::metrics::curve::Point;
use espalier_eval::tasks::parts;
use espalier_io::disk::read;
use espalier_io::exit::usage;
use serde::Serialize;

use super::photo_parts::{Boxed, PhotoParts};

/// Metric of a result with the area under the curve.
const AP: &str = "average_precision";

/// Maximum number of points kept per curve.
const POINTS: usize = 200;

/// Score by which pairs are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Score {
    /// Interior angle at the image, in `[0, pi]`.
    Beta1,
    /// Cosine; pairs below 0 are never retrieved.
    Cosine,
}

/// The curve of one model.
#[derive(Clone, Debug, Serialize)]
pub struct Curve {
    /// Model.
    pub model: String,
    /// Score by which pairs were ranked.
    pub score: Score,
    /// Area under the curve, every pair counted.
    pub average_precision: f64,
    /// From the highest threshold to the lowest.
    pub points: Vec<Point>,
}

/// Data of the figure.
#[derive(Clone, Debug, Serialize)]
pub struct Pr {
    /// Number of images.
    pub queries: usize,
    /// Number of boxes.
    pub candidates: usize,
    /// Share of all pairs that are relevant: the precision of chance.
    pub chance: f64,
    /// One curve per model.
    pub curves: Vec<Curve>,
}

impl Score {
    fn of_space(space: &Space) -> Self {
        match space {
            Space::Sphere { .. } => Self::Cosine,
            _ => Self::Beta1,
        }
    }

    fn of(self, space: &Space, whole: &[f32], part: &[f32]) -> f64 {
        match self {
            Self::Beta1 => PI - space.exterior_angle(whole, part),
            Self::Cosine => space.score(whole, part),
        }
    }
}

/// Returns all pairs of an image with boxes and a box of any image, and whether the box is relevant.
fn pairs(scenes: &[PhotoParts]) -> impl Iterator<Item = (&PhotoParts, &Boxed, bool)> {
    let queries = scenes.iter().filter(|s| !s.boxes.is_empty());
    queries.flat_map(move |query| {
        let labels: BTreeSet<&str> = query.boxes.iter().map(|b| b.label.as_str()).collect();
        let parts = scenes.iter().flat_map(|s| &s.boxes);
        parts.map(move |part| (query, part, labels.contains(part.label.as_str())))
    })
}

/// Returns all points of the curve and the area under it: the sum of precision times the increase
/// in recall. Pairs of equal score are retrieved together, those below 0 never.
fn sweep(mut pairs: Vec<(f64, bool)>) -> (Vec<Point>, f64) {
    let right = pairs.iter().filter(|p| p.1).count() as f64;
    pairs.retain(|p| p.0 >= 0.0);
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut points, mut area) = (Vec::new(), 0.0);
    let (mut found, mut hits, mut before) = (0.0, 0.0, 0.0);
    for (i, (threshold, hit)) in pairs.iter().enumerate() {
        found += 1.0;
        hits += f64::from(u8::from(*hit));
        if pairs.get(i + 1).is_some_and(|next| next.0 == *threshold) {
            continue;
        }
        let (precision, recall) = (hits / found, hits / right);
        area += precision * (recall - before);
        before = recall;
        points.push(Point {
            threshold: *threshold,
            precision,
            recall,
        });
    }
    (points, area)
}

/// Returns at most [`POINTS`] points of a curve, evenly spread over recall, including both ends.
fn thinned(points: Vec<Point>) -> Vec<Point> {
    let last = points.len().saturating_sub(1);
    let mut next = 0.0;
    let keep = |(i, p): (usize, Point)| {
        (p.recall >= next || i == last).then(|| {
            next = p.recall + 1.0 / POINTS as f64;
            p
        })
    };
    points.into_iter().enumerate().filter_map(keep).collect()
}

/// Returns the curve of one model over scenes with boxes.
pub fn curve(model: &str, space: &Space, scenes: &[PhotoParts]) -> Curve {
    let score = Score::of_space(space);
    let scored = pairs(scenes)
        .map(|(query, part, right)| (score.of(space, &query.image, &part.image), right));
    let (points, average_precision) = sweep(scored.collect());
    Curve {
        model: model.to_owned(),
        score,
        average_precision,
        points: thinned(points),
    }
}

/// Returns the figure for results of `trainer eval --task parts`, one curve each.
///
/// # Errors
/// Bad usage for a file that cannot be read or holds no curve; the message names it.
pub fn curves_of_results(files: &[PathBuf]) -> anyhow::Result<Pr> {
    let mut out = Pr {
        queries: 0,
        candidates: 0,
        chance: 0.0,
        curves: Vec::new(),
    };
    for file in files {
        let fail = |found: String| {
            usage(format!(
                "--eval {}: expected the output of `trainer eval --task parts --json`, found {found}",
                file.display()
            ))
        };
        let text = read::text(file).map_err(|e| fail(e.to_string()))?;
        let before = out.curves.len();
        for line in text.lines().filter(|l| !l.trim().is_empty()) {
            let record: Record = serde_json::from_str(line).map_err(|e| fail(e.to_string()))?;
            let Some(points) = record.curves.get(parts::CURVE) else {
                continue;
            };
            // If every pair is retrieved, precision equals chance.
            let chance = points.last().map_or(0.0, |p| p.precision);
            (out.queries, out.candidates, out.chance) = (record.n, record.classes, chance);
            let similarity = record.settings.get("similarity");
            let cosine = similarity.is_some_and(|name| name == "cosine");
            let stem = file.file_stem().unwrap_or_default().to_string_lossy();
            out.curves.push(Curve {
                model: if files.len() > 1 {
                    format!("{} ({stem})", record.model)
                } else {
                    record.model
                },
                score: if cosine { Score::Cosine } else { Score::Beta1 },
                average_precision: record.metrics.get(AP).copied().unwrap_or(f64::NAN),
                points: points.clone(),
            });
        }
        if out.curves.len() == before {
            return Err(fail("no precision-recall curve".into()));
        }
    }
    Ok(out)
}

/// Returns the number of queries, of candidates, and the share of relevant pairs.
pub fn size(scenes: &[PhotoParts]) -> (usize, usize, f64) {
    let queries = scenes.iter().filter(|s| !s.boxes.is_empty()).count();
    let candidates: usize = scenes.iter().map(|s| s.boxes.len()).sum();
    let right = pairs(scenes).filter(|(_, _, right)| *right).count();
    let all = (queries * candidates).max(1);
    (queries, candidates, right as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_by_hand() {
        // Right, wrong, right, wrong: precision 1, 1/2, 2/3, 1/2.
        let pairs = vec![(0.9, true), (0.2, false), (0.7, true), (0.8, false)];
        let (points, area) = sweep(pairs);
        let found: Vec<(f64, f64)> = points.iter().map(|p| (p.precision, p.recall)).collect();
        assert_eq!(
            found,
            [(1.0, 0.5), (0.5, 0.5), (2.0 / 3.0, 1.0), (0.5, 1.0)]
        );
        assert!((area - (0.5 + 0.5 * 2.0 / 3.0)).abs() < 1e-12);
    }

    #[test]
    fn equal_scores_are_found_together_and_those_below_zero_never() {
        let (points, area) = sweep(vec![(0.5, true), (0.5, false), (-0.1, true)]);
        assert_eq!(points.len(), 1);
        assert_eq!((points[0].precision, points[0].recall), (0.5, 0.5));
        assert!((area - 0.25).abs() < 1e-12);
    }

    fn scene(direction: [f32; 2], label: &str) -> PhotoParts {
        let far = direction.map(|v| 3.0 * v).to_vec();
        PhotoParts {
            key: String::new(),
            caption: String::new(),
            image: direction.to_vec(),
            text: Vec::new(),
            boxes: vec![Boxed {
                phrase: label.into(),
                label: label.into(),
                image: far,
                text: Vec::new(),
                thumbnail: None,
            }],
            thumbnail: None,
        }
    }

    #[test]
    fn parts_straight_outward_from_their_whole_are_found_before_others() {
        let scenes = [
            scene([1.0, 0.0], "a"),
            scene([0.0, 1.0], "b"),
            scene([1.0, 0.1], "a"),
        ];
        let found = curve("m", &Space::Lorentz { curvature: 1.0 }, &scenes);
        assert_eq!(found.score, Score::Beta1);
        assert!((found.average_precision - 1.0).abs() < 1e-9);
        let (queries, candidates, chance) = size(&scenes);
        assert_eq!((queries, candidates), (3, 3));
        assert!((chance - 5.0 / 9.0).abs() < 1e-9);
    }
}
