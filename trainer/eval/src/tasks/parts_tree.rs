//! Results of one query of part-based retrieval, evaluated by the labels of its tree.

use std::collections::BTreeSet;

use super::scenes::Scenes;
use crate::metrics::curve::Sweep;
use crate::metrics::transport::{of_values, on_indices, total_variation};
use crate::search::best;

/// Sizes of the retrieved set in same-class retrieval.
pub(super) const KS: [usize; 4] = [5, 10, 50, 100];

/// Labels as numbers, and where they occur.
pub(super) struct Labels {
    /// Number of the label of each part.
    pub(super) of_part: Vec<usize>,
    /// Labels of each image, sorted and unique.
    pub(super) of_image: Vec<Vec<usize>>,
    /// Number of parts of each label.
    count: Vec<usize>,
}

impl Labels {
    /// Returns the labels of scenes by number, in the order of their names.
    pub(super) fn of(scenes: &Scenes) -> Self {
        let names: BTreeSet<&String> = scenes.boxes.labels.iter().collect();
        let names: Vec<&String> = names.into_iter().collect();
        let number = |name: &String| names.binary_search(&name).unwrap_or_default();
        let of_part: Vec<usize> = scenes.boxes.labels.iter().map(number).collect();
        let mut of_image = vec![BTreeSet::new(); scenes.images.points.len()];
        let mut count = vec![0; names.len()];
        for (label, image) in of_part.iter().zip(&scenes.image_of) {
            count[*label] += 1;
            if let Some(image) = image {
                of_image[*image].insert(*label);
            }
        }
        let listed = of_image.into_iter().map(|set| set.into_iter().collect());
        Self {
            of_part,
            of_image: listed.collect(),
            count,
        }
    }

    /// Returns whether an image shows a label.
    pub(super) fn shows(&self, image: usize, label: usize) -> bool {
        self.of_image[image].binary_search(&label).is_ok()
    }
}

/// Returns the share of relevant items among the first `k`, for each of [`KS`].
pub(super) fn shares(right: &[bool]) -> Vec<f64> {
    let share = |k: &usize| {
        let count = right.len().min(*k);
        right.iter().take(count).filter(|r| **r).count() as f64 / count.max(1) as f64
    };
    KS.iter().map(share).collect()
}

/// Results of one scene's query.
pub(super) struct Tree {
    /// Share of relevant items for each of [`KS`].
    pub(super) shares: Vec<f64>,
    /// Recall, both transport distances and total variation for each size of the retrieved set.
    pub(super) sizes: Vec<f64>,
    /// Histogram of all values.
    pub(super) sweep: Sweep,
}

/// Evaluates the values of a scene's query; `row` has one value per part.
pub(super) fn tree(
    at: usize,
    row: &[f64],
    labels: &Labels,
    sizes: &[usize],
    mut sweep: Sweep,
) -> Tree {
    let is_relevant = |part: usize| labels.shows(at, labels.of_part[part]);
    for (part, value) in row.iter().enumerate() {
        sweep.add(*value, is_relevant(part));
    }
    let deepest = sizes.iter().chain(&KS).copied().max().unwrap_or(0);
    let order = best(row, deepest);
    let right: Vec<bool> = order.iter().map(|part| is_relevant(*part)).collect();
    // Labels of the tree by decreasing share, then by number; "other" comes last.
    let mut tree = labels.of_image[at].clone();
    tree.sort_by_key(|label| (std::cmp::Reverse(labels.count[*label]), *label));
    let all: usize = tree.iter().map(|label| labels.count[*label]).sum();
    let mut h: Vec<f64> = tree
        .iter()
        .map(|l| labels.count[*l] as f64 / all.max(1) as f64)
        .collect();
    h.push(0.0);
    let mut numbers = Vec::with_capacity(4 * sizes.len());
    for size in sizes {
        let retrieved = &order[..order.len().min(*size)];
        let mut r = vec![0.0; h.len()];
        for part in retrieved {
            let index = tree.iter().position(|l| *l == labels.of_part[*part]);
            r[index.unwrap_or(tree.len())] += 1.0 / retrieved.len() as f64;
        }
        let hits = right[..retrieved.len()].iter().filter(|r| **r).count();
        numbers.extend([
            hits as f64 / all.max(1) as f64,
            on_indices(&h, &r),
            100.0 * of_values(&h, &r),
            total_variation(&h, &r),
        ]);
    }
    Tree {
        shares: shares(&right),
        sizes: numbers,
        sweep,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_of_five_objects_matches_a_calculation_by_hand() {
        // Two scenes: the first shows labels 0 and 1, the second 1 and 2.
        let labels = Labels {
            of_part: vec![0, 1, 1, 2, 1],
            of_image: vec![vec![0, 1], vec![1, 2]],
            count: vec![1, 3, 1],
        };
        // Order of the first scene's query: 3 (wrong), 0, 1, 4, 2.
        let row = [0.8, 0.7, 0.2, 0.9, 0.5];
        let found = tree(0, &row, &labels, &[2, 4], Sweep::new(1.0, 10));
        // All four right among five.
        assert_eq!(found.shares, [0.8, 0.8, 0.8, 0.8]);
        // The tree holds 4 items, h = (3/4 of label 1, 1/4 of label 0, 0 other).
        // First two: label 2 (other) and label 0: r = (0, 1/2, 1/2).
        let two = &found.sizes[..4];
        assert_eq!(two[0], 0.25);
        assert!((two[1] - (0.75 + 0.5)).abs() < 1e-12);
        // Sorted values 0, 1/4, 3/4 against 0, 1/2, 1/2: (1/4 + 1/4) / 3.
        assert!((two[2] - 100.0 * 0.5 / 3.0).abs() < 1e-9);
        assert!((two[3] - 0.75).abs() < 1e-12);
        assert_eq!(found.sizes[4], 0.75);
    }
}
