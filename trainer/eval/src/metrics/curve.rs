//! Precision and recall as a threshold is swept (notation 6.8).

use serde::{Deserialize, Serialize};

/// A point of the curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Items at or above this value are retrieved.
    pub threshold: f64,
    /// Share of relevant items among the retrieved ones.
    pub precision: f64,
    /// Share of the relevant items that are retrieved.
    pub recall: f64,
}

/// Histogram over an even grid from 0, for sweeping many values in bounded memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    most: f64,
    right: Vec<u64>,
    wrong: Vec<u64>,
}

impl Sweep {
    /// Returns a grid of `steps` intervals from 0 to `most`.
    pub fn new(most: f64, steps: usize) -> Self {
        Self {
            most,
            right: vec![0; steps.max(1)],
            wrong: vec![0; steps.max(1)],
        }
    }

    /// Counts a value; values outside the range count in the first or last interval.
    pub fn add(&mut self, value: f64, is_right: bool) {
        let steps = self.right.len() as f64;
        let interval = (value / self.most * steps).floor();
        let interval = interval.clamp(0.0, steps - 1.0) as usize;
        let counts = if is_right {
            &mut self.right
        } else {
            &mut self.wrong
        };
        counts[interval] += 1;
    }

    /// Adds the counts of another sweep over the same grid.
    pub fn join(mut self, other: &Self) -> Self {
        let add = |into: &mut [u64], from: &[u64]| {
            for (a, b) in into.iter_mut().zip(from) {
                *a += b;
            }
        };
        add(&mut self.right, &other.right);
        add(&mut self.wrong, &other.wrong);
        self
    }

    /// Returns the curve, from the highest threshold that retrieves anything to the lowest. Of
    /// thresholds that retrieve the same items, only the highest is kept.
    pub fn curve(&self) -> Vec<Point> {
        let all: u64 = self.right.iter().sum();
        let width = self.most / self.right.len() as f64;
        let (mut right, mut retrieved) = (0, 0);
        let mut points: Vec<Point> = Vec::with_capacity(self.right.len());
        for at in (0..self.right.len()).rev() {
            let count = self.right[at] + self.wrong[at];
            if count == 0 {
                continue;
            }
            right += self.right[at];
            retrieved += count;
            points.push(Point {
                threshold: width * at as f64,
                precision: right as f64 / retrieved as f64,
                recall: right as f64 / all.max(1) as f64,
            });
        }
        points
    }

    /// Returns the area under the curve as average precision: precision weighted by the increase in
    /// recall.
    pub fn average_precision(&self) -> f64 {
        let mut before = 0.0;
        let each = self.curve().into_iter().map(|p| {
            let gained = p.recall - before;
            before = p.recall;
            gained * p.precision
        });
        each.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_of_four_values() {
        let mut sweep = Sweep::new(1.0, 4);
        for (value, right) in [(0.9, true), (0.6, false), (0.55, true), (0.1, false)] {
            sweep.add(value, right);
        }
        let curve = sweep.curve().into_iter();
        let curve: Vec<_> = curve
            .map(|p| (p.threshold, p.precision, p.recall))
            .collect();
        // The third interval is empty.
        let expected = [(0.75, 1.0, 0.5), (0.5, 2.0 / 3.0, 1.0), (0.0, 0.5, 1.0)];
        assert_eq!(curve, expected);
        // 0.5 of the recall at precision 1, 0.5 at 2/3.
        assert!((sweep.average_precision() - (0.5 + 1.0 / 3.0)).abs() < 1e-12);
    }

    #[test]
    fn joined_sweeps_count_the_values_of_both() {
        let mut sweep = Sweep::new(4.0, 4);
        for (value, right) in [(0.5, false), (1.5, true), (2.5, false), (3.5, true)] {
            sweep.add(value, right);
        }
        let thresholds: Vec<f64> = sweep.curve().iter().map(|p| p.threshold).collect();
        assert_eq!(thresholds, [3.0, 2.0, 1.0, 0.0]);
        let mut more = Sweep::new(4.0, 4);
        more.add(3.5, false);
        let precision = |sweep: &Sweep| sweep.curve()[0].precision;
        assert_eq!(precision(&sweep), 1.0);
        assert_eq!(precision(&sweep.clone().join(&more)), 0.5);
        let twice = sweep.clone().join(&sweep);
        assert_eq!(twice.average_precision(), sweep.average_precision());
    }

    #[test]
    fn values_beyond_the_ends_count_at_the_ends() {
        let mut sweep = Sweep::new(1.0, 2);
        sweep.add(-3.0, true);
        sweep.add(7.0, true);
        assert_eq!(sweep.curve()[0].recall, 0.5);
        assert_eq!(Sweep::new(1.0, 0).average_precision(), 0.0);
    }
}
