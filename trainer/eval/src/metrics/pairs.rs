//! Pairs of a general and a specific label for an image (notation 6.6).
//!
//! The score of a pair is `c_x + c_y + C Xi_r(x, y)`: the image's similarity to both and the
//! weighted exterior angle between them. The weight is chosen on one half of the images and
//! evaluated on the other.

use clap::ValueEnum;

/// Whether the weighted angle is added or subtracted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sign {
    /// Added, as printed in the paper.
    Plus,
    /// Subtracted, so that a small angle (entailment) gives a high score.
    Minus,
}

/// Ordered pairs of labels with the exterior angle at the first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairs {
    /// Label nearer to the root, label farther from it.
    pub ends: Vec<(u32, u32)>,
    /// Exterior angle at the first toward the second.
    pub angles: Vec<f32>,
}

impl Pairs {
    /// Every unordered pair of labels with these radii, ordered by radius (the earlier label first
    /// if they are equal); `angle` returns the exterior angle.
    pub fn all(radii: &[f64], angle: impl Fn(usize, usize) -> f64) -> Self {
        let mut pairs = Self::default();
        for a in 0..radii.len() {
            for b in a + 1..radii.len() {
                let (x, y) = if radii[b] < radii[a] { (b, a) } else { (a, b) };
                pairs.ends.push((x as u32, y as u32));
                pairs.angles.push(angle(x, y) as f32);
            }
        }
        pairs
    }

    /// Returns the number of pairs that score higher than the pair `gold`, for each weight; 0 means
    /// that `gold` is first. A pair with an equal score counts if it comes earlier.
    ///
    /// `similarities` holds the image's similarity to every label.
    pub fn ranks(&self, similarities: &[f32], gold: usize, weights: &[f32]) -> Vec<u32> {
        let similarity = |(x, y): (u32, u32)| similarities[x as usize] + similarities[y as usize];
        let sums: Vec<f32> = self.ends.iter().map(|ends| similarity(*ends)).collect();
        let rank = |weight: &f32| {
            let gold_score = sums[gold] + weight * self.angles[gold];
            let scores = sums.iter().zip(&self.angles).map(|(s, a)| s + weight * a);
            let scores = scores.enumerate();
            scores
                .filter(|(i, s)| *s > gold_score || (*s == gold_score && *i < gold))
                .count() as u32
        };
        weights.iter().map(rank).collect()
    }
}

/// Returns the recall at `k` over two folds: each fold is evaluated with the weight that is best on
/// the other (the first of equally good ones), then both are averaged. Also returns the indices of
/// the two weights.
///
/// `ranks[image][weight]`; an image without a rank (its gold pair is in the wrong order) is a
/// miss. Fold 0 holds the images at even indices.
pub fn two_fold(ranks: &[Option<Vec<u32>>], weights: usize, k: u32) -> (f64, [usize; 2]) {
    let hits = |fold: usize, weight: usize| {
        let images = ranks.iter().skip(fold).step_by(2).flatten();
        images.filter(|ranks| ranks[weight] < k).count()
    };
    let best = |fold: usize| {
        let each = (0..weights).map(|w| (hits(fold, w), std::cmp::Reverse(w)));
        each.max().map_or(0, |(_, std::cmp::Reverse(w))| w)
    };
    if ranks.is_empty() || weights == 0 {
        return (0.0, [0, 0]);
    }
    let chosen = [best(1), best(0)];
    let images = |fold: usize| ranks.iter().skip(fold).step_by(2).count().max(1) as f64;
    let value = |fold: usize| hits(fold, chosen[fold]) as f64 / images(fold);
    // A single image leaves the second fold empty.
    let folds = ranks.len().min(2);
    let sum: f64 = (0..folds).map(value).sum();
    (sum / folds as f64, chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_ordered_by_radius() {
        let pairs = Pairs::all(&[0.5, 0.2, 0.5], |x, y| (10 * x + y) as f64);
        assert_eq!(pairs.ends, [(1, 0), (0, 2), (1, 2)]);
        assert_eq!(pairs.angles, [10.0, 2.0, 12.0]);
    }

    #[test]
    fn the_weight_of_the_angle_moves_the_gold_pair() {
        let pairs = Pairs {
            ends: vec![(0, 1), (0, 2), (1, 2)],
            angles: vec![2.0, 1.0, 0.5],
        };
        // Plain sums 1.5, 1.4, 0.9; the gold pair is the second.
        let ranks = pairs.ranks(&[1.0, 0.5, 0.4], 1, &[0.0, 0.2, -0.2]);
        assert_eq!(ranks, [1, 1, 0]);
        // With weight 1, the sums become 3.5, 2.4 and 1.4; the last of them has two before it.
        assert_eq!(pairs.ranks(&[1.0, 0.5, 0.4], 2, &[1.0, -0.5]), [2, 1]);
        // With weight -0.5: 0.5, 0.9 and 0.65.
        assert_eq!(pairs.ranks(&[1.0, 0.5, 0.4], 0, &[-0.5]), [2]);
        // Equal scores: the earlier pair wins.
        let same = Pairs {
            ends: vec![(0, 1), (0, 2)],
            angles: vec![1.0, 1.0],
        };
        assert_eq!(same.ranks(&[1.0, 0.5, 0.5], 1, &[0.1]), [1]);
        assert_eq!(same.ranks(&[1.0, 0.5, 0.5], 0, &[0.1]), [0]);
    }

    #[test]
    fn each_half_is_evaluated_with_the_weight_of_the_other() {
        let of = |a: u32, b: u32| Some(vec![a, b]);
        // Even indices favour weight 1, odd indices weight 0.
        let ranks = [of(3, 0), of(0, 3), of(3, 0), of(0, 3), None];
        let (value, chosen) = two_fold(&ranks, 2, 1);
        assert_eq!((value, chosen), (0.0, [0, 1]));
        let agreed = [of(3, 0), of(3, 0), of(3, 0), of(0, 0)];
        assert_eq!(two_fold(&agreed, 2, 1), (1.0, [1, 1]));
        // Rank 1 is no hit at 1.
        let second = [of(1, 1), of(1, 1)];
        assert_eq!(two_fold(&second, 2, 1).0, 0.0);
        assert_eq!(two_fold(&second, 2, 2).0, 1.0);
        assert_eq!(two_fold(&[], 2, 1), (0.0, [0, 0]));
    }
}
