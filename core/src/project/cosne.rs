//! Neighbour embedding of hyperbolic points in the disk (CO-SNE, Guo et al. 2022; notation 6.11).
//!
//! t-SNE with hyperbolic distances on both sides: `P` from squared distances at a given perplexity,
//! `Q` from the Cauchy kernel `gamma / (d^2 + gamma^2)`, and gradient descent on `KL(P || Q)`. A
//! second term preserves the squared norms of the points, so that general concepts stay near the
//! centre.

use crate::geometry::poincare::distance;

/// Settings of the descent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoSne {
    /// Effective number of neighbours; at most a third of the other points.
    pub perplexity: f64,
    /// `gamma` of the kernel.
    pub gamma: f64,
    /// Learning rate of the neighbour term for 800 points, the number of the publication. With
    /// fewer points the entries of `P`, and with them the steps, are larger. The rate is therefore
    /// reduced in proportion to the number of points; otherwise the points would jump to the rim.
    pub rate: f64,
    /// Learning rate of the norm term.
    pub norm_rate: f64,
    /// Number of steps.
    pub iterations: usize,
}

impl Default for CoSne {
    /// Returns the published values.
    fn default() -> Self {
        Self {
            perplexity: 20.0,
            gamma: 0.1,
            rate: 5.0,
            norm_rate: 0.1,
            iterations: 1000,
        }
    }
}

/// Number of points that [`CoSne::rate`] is meant for.
const POINTS: f64 = 800.0;

/// Largest norm of a point of the disk; points beyond it are scaled back.
const RIM: f64 = 1.0 - 1e-5;

/// Number of steps of the search for a width of a neighbourhood.
const SEARCH: usize = 64;

/// Returns the squared distances of all pairs, row by row.
fn squared_distances(points: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let n = points.len();
    let mut out = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..i {
            let square = distance(&points[i], &points[j]).powi(2);
            out[i][j] = square;
            out[j][i] = square;
        }
    }
    out
}

/// Returns the weights `exp(-beta d^2)` of the neighbours of point `of`, normalised to sum 1, and
/// their entropy.
fn weights(squares: &[f64], of: usize, beta: f64) -> (Vec<f64>, f64) {
    let others = squares.iter().enumerate().filter(|(j, _)| *j != of);
    let nearest = others.fold(f64::INFINITY, |m, (_, d)| m.min(*d));
    let each = squares.iter().map(|d| (-beta * (d - nearest)).exp());
    let mut row: Vec<f64> = each.collect();
    row[of] = 0.0;
    let sum: f64 = row.iter().sum();
    row.iter_mut().for_each(|w| *w /= sum);
    let entropy = row.iter().filter(|w| **w > 0.0).map(|w| -w * w.ln()).sum();
    (row, entropy)
}

/// Returns symmetric neighbour probabilities with sum 1. Each point's own weights have the entropy
/// `ln(perplexity)`.
fn neighbours(squares: &[Vec<f64>], perplexity: f64) -> Vec<Vec<f64>> {
    let n = squares.len();
    let target = perplexity.ln();
    let rows: Vec<Vec<f64>> = (0..n)
        .map(|i| {
            let (mut low, mut high, mut beta) = (0.0, f64::INFINITY, 1.0);
            for _ in 0..SEARCH {
                let (_, entropy) = weights(&squares[i], i, beta);
                if entropy > target {
                    low = beta;
                    beta = match high.is_finite() {
                        true => (low + high) / 2.0,
                        false => beta * 2.0,
                    };
                } else {
                    high = beta;
                    beta = (low + high) / 2.0;
                }
            }
            weights(&squares[i], i, beta).0
        })
        .collect();
    let both = |i: usize, j: usize| (rows[i][j] + rows[j][i]) / (2.0 * n as f64);
    (0..n)
        .map(|i| (0..n).map(|j| both(i, j)).collect())
        .collect()
}

/// Returns `d^2` for two points of the disk, and half its derivative by the first (`d` times the
/// derivative of `d`).
fn pull(a: [f64; 2], b: [f64; 2]) -> (f64, [f64; 2]) {
    let gap = |p: [f64; 2]| 1.0 - p[0] * p[0] - p[1] * p[1];
    let (ga, gb) = (gap(a), gap(b));
    let diff = [a[0] - b[0], a[1] - b[1]];
    let square = diff[0] * diff[0] + diff[1] * diff[1];
    let z = 2.0 * square / (ga * gb);
    let d = crate::geometry::poincare::acosh_1p(z);
    let slope = (z * (z + 2.0)).sqrt();
    // d / sinh(d) tends to 1 for small d.
    let ratio = if slope > 1e-9 { d / slope } else { 1.0 };
    let by = [0, 1].map(|k| ratio * (4.0 * diff[k] + 4.0 * square * a[k] / ga) / (ga * gb));
    (d * d, by)
}

/// Returns `KL(P || Q)` without its constant part, and its gradient.
fn divergence(p: &[Vec<f64>], y: &[[f64; 2]], gamma: f64) -> (f64, Vec<[f64; 2]>) {
    let n = y.len();
    let mut kernels = vec![vec![0.0; n]; n];
    let mut pulls = vec![vec![[0.0; 2]; n]; n];
    let (mut total, mut loss) = (0.0, 0.0);
    for i in 0..n {
        for j in 0..i {
            let (square, by) = pull(y[i], y[j]);
            let (_, back) = pull(y[j], y[i]);
            let kernel = gamma / (square + gamma * gamma);
            (kernels[i][j], kernels[j][i]) = (kernel, kernel);
            (pulls[i][j], pulls[j][i]) = (by, back);
            total += 2.0 * kernel;
            loss -= 2.0 * p[i][j] * kernel.ln();
        }
    }
    let mut gradient = vec![[0.0; 2]; n];
    for i in 0..n {
        for j in 0..n {
            // 1 / (d^2 + gamma^2) is the kernel divided by gamma; each pair counts in both orders.
            let force = 4.0 * (p[i][j] - kernels[i][j] / total) * kernels[i][j] / gamma;
            gradient[i][0] += force * pulls[i][j][0];
            gradient[i][1] += force * pulls[i][j][1];
        }
    }
    (loss + total.ln(), gradient)
}

/// Embeds points of the Poincaré ball in the disk, starting from the positions `start`.
///
/// `start` has one position per point; the published code draws them from `0.01 N(0, 1)`.
#[must_use]
pub fn cosne(points: &[Vec<f64>], start: &[[f64; 2]], settings: CoSne) -> Vec<[f64; 2]> {
    let mut y = start.to_vec();
    if points.len() < 2 || y.len() != points.len() {
        return y;
    }
    let perplexity = settings
        .perplexity
        .min((points.len() - 1) as f64 / 3.0)
        .max(1.0);
    let rate = settings.rate * (points.len() as f64 / POINTS).min(1.0);
    let p = neighbours(&squared_distances(points), perplexity);
    let norms: Vec<f64> = points
        .iter()
        .map(|p| p.iter().map(|v| v * v).sum())
        .collect();
    for _ in 0..settings.iterations {
        let (_, gradient) = divergence(&p, &y, settings.gamma);
        for ((y, g), norm) in y.iter_mut().zip(gradient).zip(&norms) {
            let own = y[0] * y[0] + y[1] * y[1];
            // Converts the Euclidean gradient to the metric of the ball.
            let metric = (1.0 - own).powi(2) / 4.0;
            for k in 0..2 {
                let by_norm = 4.0 * (own - norm) * y[k];
                y[k] -= metric * (rate * g[k] + settings.norm_rate * by_norm);
            }
            let norm = y[0].hypot(y[1]);
            if norm > RIM {
                *y = y.map(|v| v * RIM / norm);
            }
        }
    }
    y
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::poincare::exp0;

    /// Two groups of five points around two directions, and irregular starting positions.
    fn groups() -> (Vec<Vec<f64>>, Vec<[f64; 2]>) {
        let point = |i: u32| {
            let side = if i < 5 { 1.0 } else { -1.0 };
            let t = f64::from(i);
            exp0(&[side * 2.0, 0.2 * (1.7 * t).sin(), 0.2 * (2.9 * t).cos()])
        };
        let place = |i: u32| {
            let t = f64::from(i);
            [0.01 * (12.9 * t).sin(), 0.01 * (78.2 * t).cos()]
        };
        ((0..10).map(point).collect(), (0..10).map(place).collect())
    }

    #[test]
    fn two_groups_stay_apart() {
        let (points, start) = groups();
        let y = cosne(&points, &start, CoSne::default());
        let within = (0..5)
            .flat_map(|i| (0..i).map(move |j| (i, j)))
            .flat_map(|(i, j)| [(i, j), (i + 5, j + 5)])
            .map(|(i, j)| distance(&y[i], &y[j]))
            .fold(0.0, f64::max);
        let across = (0..5)
            .flat_map(|i| (5..10).map(move |j| (i, j)))
            .map(|(i, j)| distance(&y[i], &y[j]))
            .fold(f64::INFINITY, f64::min);
        assert!(across > 1.5 * within, "{across} {within}");
    }

    #[test]
    fn what_is_general_stays_nearer_to_the_middle() {
        let (mut points, start) = groups();
        points[0] = exp0(&[0.2, 0.0, 0.1]);
        let y = cosne(&points, &start, CoSne::default());
        let norm = |i: usize| y[i][0].hypot(y[i][1]);
        assert!((1..10).all(|i| norm(0) < norm(i)), "{y:?}");
    }

    #[test]
    fn the_gradient_is_that_of_finite_differences() {
        let (points, start) = groups();
        let p = neighbours(&squared_distances(&points), 3.0);
        let y: Vec<[f64; 2]> = start.iter().map(|y| y.map(|v| 40.0 * v)).collect();
        let (_, found) = divergence(&p, &y, 0.1);
        for i in 0..y.len() {
            for k in 0..2 {
                let shifted = |by: f64| {
                    let mut other = y.clone();
                    other[i][k] += by;
                    divergence(&p, &other, 0.1).0
                };
                let known = (shifted(1e-6) - shifted(-1e-6)) / 2e-6;
                assert!((found[i][k] - known).abs() < 1e-6, "{i} {k}");
            }
        }
    }

    #[test]
    fn neighbour_probabilities_have_the_perplexity_that_was_asked_for() {
        let (points, _) = groups();
        let squares = squared_distances(&points);
        let p = neighbours(&squares, 3.0);
        assert!((p.iter().flatten().sum::<f64>() - 1.0).abs() < 1e-12);
        // A ring, where every point has the same neighbourhood: symmetric from the start.
        let ring: Vec<Vec<f64>> = (0..12)
            .map(|i| {
                let (s, c) = (std::f64::consts::TAU * f64::from(i) / 12.0).sin_cos();
                exp0(&[c, s])
            })
            .collect();
        let p = neighbours(&squared_distances(&ring), 4.0);
        let entropy: f64 = p[0]
            .iter()
            .map(|w| w * 12.0)
            .filter(|w| *w > 0.0)
            .map(|w| -w * w.ln())
            .sum();
        assert!((entropy.exp() - 4.0).abs() < 1e-6, "{}", entropy.exp());
    }
}
