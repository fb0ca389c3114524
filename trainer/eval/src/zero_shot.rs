//! Classification through texts (notation 6.1).

use std::collections::BTreeMap;

use espalier_core::geometry::Space;
use espalier_core::taxonomy::NodeIx;

use super::Points;
use super::embed::Labelled;
use super::metrics::named;
use super::metrics::summary::mean;
use super::search::{Ranked, top_k};

/// Returns the ranking of the classes for each image: indices into `classes`, best first, at most
/// five.
pub fn rank(space: &Space, images: &[Vec<f32>], classes: &[Vec<f32>]) -> Vec<Vec<usize>> {
    let (images, classes) = (Points::from_rows(images), Points::from_rows(classes));
    answers(&top_k(space, &images, &classes, 5))
}

/// Returns the ranked classes of each image.
pub fn answers(ranked: &Ranked) -> Vec<Vec<usize>> {
    let answer = |i: usize| ranked.items(i).iter().map(|c| *c as usize).collect();
    (0..ranked.len()).map(answer).collect()
}

/// `acc1`, `acc5` over images and `mean_per_class_recall` over classes.
///
/// The mean runs over classes that are true or predicted at least once; a class that is predicted
/// but never true counts 0 (notation 6.1).
pub fn metrics(ranked: &[Vec<usize>], truth: &[usize], classes: usize) -> BTreeMap<String, f64> {
    let n = truth.len().max(1) as f64;
    let hits = |k: usize| {
        let hit = ranked.iter().zip(truth);
        let hit = hit.filter(|(r, t)| r.iter().take(k).any(|c| c == *t));
        hit.count() as f64 / n
    };
    // By class: images, answers, right answers.
    let mut counts = vec![[0_u64; 3]; classes];
    for (r, t) in ranked.iter().zip(truth) {
        counts[*t][0] += 1;
        counts[r[0]][1] += 1;
        counts[*t][2] += u64::from(r[0] == *t);
    }
    let seen = counts.iter().filter(|of| of[0] + of[1] > 0);
    let recall = mean(seen.map(|[images, _, right]| *right as f64 / (*images).max(1) as f64));
    named([
        ("acc1", hits(1)),
        ("acc5", hits(5)),
        ("mean_per_class_recall", recall),
        ("chance", 1.0 / classes.max(1) as f64),
    ])
}

/// Returns the classes that occur among labelled images, ascending.
pub fn classes_of(images: &Labelled) -> Vec<NodeIx> {
    let mut classes = images.labels.clone();
    classes.sort_unstable();
    classes.dedup();
    classes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_that_is_predicted_and_never_true_counts_zero() {
        // notation 6.1: targets 0,0,1,1, predictions 0,0,1,2 of 4 classes give 0.5.
        let ranked = vec![vec![0], vec![0], vec![1], vec![2]];
        let m = metrics(&ranked, &[0, 0, 1, 1], 4);
        assert_eq!(m["mean_per_class_recall"], 0.5);
        assert_eq!(m["acc1"], 0.75);
        assert_eq!(m["chance"], 0.25);
    }

    #[test]
    fn the_nearest_text_ranks_first() {
        let space = Space::Lorentz { curvature: 1.0 };
        let classes = vec![vec![1.0, 0.0], vec![0.0, 1.0]];
        let ranked = rank(&space, &[vec![0.2, 0.9], vec![0.9, 0.1]], &classes);
        assert_eq!(ranked, [[1, 0], [0, 1]]);
    }
}
