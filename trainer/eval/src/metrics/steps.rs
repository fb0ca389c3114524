//! Hierarchical text-image matching: walks outward from the root and names, at each radius, the
//! best text within it (notation 6.4 and 6.7).

use std::collections::BTreeSet;

use clap::ValueEnum;

/// Where the radii of the walk come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Radii {
    /// Evenly from the smallest to the largest radius of all texts, the same for every image
    /// (published code of RE).
    Global,
    /// Evenly from the root to the image's best text (papers of RE and HyCoCLIP).
    PerImage,
}

/// `count` evenly spaced numbers from `from` to `to`, both ends exact; a single number is `to`.
pub fn linspace(from: f64, to: f64, count: usize) -> Vec<f64> {
    let last = count.saturating_sub(1);
    (0..count)
        .map(|i| match i {
            i if i == last => to,
            i => from + (to - from) * i as f64 / last as f64,
        })
        .collect()
}

/// The texts that images are matched with, ordered by radius.
#[derive(Clone, Debug)]
pub struct Pool {
    radii: Vec<f64>,
    order: Vec<usize>,
}

impl Pool {
    /// Returns a pool of texts with these radii.
    pub fn new(radii: Vec<f64>) -> Self {
        let mut order: Vec<usize> = (0..radii.len()).collect();
        order.sort_by(|a, b| radii[*a].total_cmp(&radii[*b]));
        Self { radii, order }
    }

    /// Returns the radii of one image's walk, ascending; none for an empty pool.
    pub fn thresholds(&self, scores: &[f32], radii: Radii, steps: usize) -> Vec<f64> {
        let (Some(nearest), Some(farthest)) = (self.order.first(), self.order.last()) else {
            return Vec::new();
        };
        match radii {
            Radii::Global => linspace(self.radii[*nearest], self.radii[*farthest], steps),
            Radii::PerImage => {
                let best = (0..scores.len()).max_by(|a, b| {
                    // Of equal scores the first, as in argmax.
                    scores[*a].total_cmp(&scores[*b]).then(b.cmp(a))
                });
                linspace(0.0, best.map_or(0.0, |best| self.radii[best]), steps)
            }
        }
    }

    /// Returns the best-scoring text within each threshold; thresholds without a text inside add
    /// nothing.
    ///
    /// `thresholds` must be ascending. Of equal scores, the text nearer to the root is taken, then
    /// the earlier one.
    pub fn walk(&self, scores: &[f32], thresholds: &[f64]) -> Vec<usize> {
        let (mut next, mut best) = (0, None::<usize>);
        let mut named = Vec::new();
        for threshold in thresholds {
            let is_inside = |text: &&usize| self.radii[**text] <= *threshold;
            while let Some(text) = self.order.get(next).filter(is_inside) {
                if best.is_none_or(|best| scores[*text] > scores[best]) {
                    best = Some(*text);
                }
                next += 1;
            }
            named.extend(best);
        }
        named
    }
}

/// Precision and recall of one image's walk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Match {
    /// Share of the predicted texts that belong to the image.
    pub precision: f64,
    /// Share of the tiers with a predicted text.
    pub recall: f64,
}

/// Compares predicted texts with the chains of an image as sets of strings: a string counts if any
/// reference contains it.
///
/// `tiers` is the length of a chain; texts of `references` are `references[chain][tier]`.
pub fn compare(predicted: &BTreeSet<&str>, references: &[&[String]], tiers: usize) -> Match {
    let all = references.iter().flat_map(|chain| chain.iter());
    let expected: BTreeSet<&str> = all.map(String::as_str).collect();
    let right = predicted.intersection(&expected).count();
    let named = |tier: usize| {
        let mut texts = references.iter().filter_map(|chain| chain.get(tier));
        texts.any(|text| predicted.contains(text.as_str()))
    };
    Match {
        precision: right as f64 / predicted.len().max(1) as f64,
        recall: (0..tiers).filter(|tier| named(*tier)).count() as f64 / tiers.max(1) as f64,
    }
}

/// Returns the harmonic mean; 0 where both are 0.
pub fn f1(precision: f64, recall: f64) -> f64 {
    if precision + recall > 0.0 {
        2.0 * precision * recall / (precision + recall)
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_range_are_even_and_its_ends_exact() {
        let points = linspace(0.1, 0.7, 50);
        assert_eq!((points.len(), points[0], points[49]), (50, 0.1, 0.7));
        assert_eq!(linspace(1.0, 4.0, 4), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(linspace(0.1, 0.7, 1), [0.7]);
        assert!(linspace(0.1, 0.7, 0).is_empty());
    }

    #[test]
    fn the_best_text_within_each_radius_is_named() {
        let pool = Pool::new(vec![0.5, 0.1, 0.9]);
        let scores = [0.6, 0.2, 0.4];
        let thresholds = [0.05, 0.1, 0.4, 0.5, 0.9];
        assert_eq!(pool.walk(&scores, &thresholds), [1, 1, 0, 0]);
        // If scores are equal, the text nearer to the root is kept.
        assert_eq!(pool.walk(&[0.4, 0.4, 0.4], &[0.1, 0.5, 0.9]), [1, 1, 1]);
        // The best text of this image lies at 0.5.
        let thresholds = pool.thresholds(&scores, Radii::PerImage, 3);
        assert_eq!(thresholds, [0.0, 0.25, 0.5]);
        assert_eq!(pool.thresholds(&scores, Radii::Global, 2), [0.1, 0.9]);
        let none = Pool::new(Vec::new());
        assert!(none.thresholds(&[], Radii::Global, 3).is_empty());
    }

    #[test]
    fn any_reference_counts_and_texts_are_sets() {
        let chains = [["a", "b"], ["a", "c"]].map(|c| c.map(str::to_owned));
        let references: Vec<&[String]> = chains.iter().map(<[String; 2]>::as_slice).collect();
        let found = compare(&BTreeSet::from(["a", "c", "x"]), &references, 2);
        assert!((found.precision - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(found.recall, 1.0);
        let empty = compare(&BTreeSet::new(), &references, 2);
        assert_eq!((empty.precision, empty.recall), (0.0, 0.0));
        assert_eq!((f1(0.5, 1.0), f1(0.5, 0.25)), (2.0 / 3.0, 1.0 / 3.0));
        assert_eq!((f1(0.0, 0.0), f1(0.5, 0.0)), (0.0, 0.0));
    }
}
