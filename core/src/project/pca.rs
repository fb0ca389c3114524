//! The two directions of largest variance, by orthogonal iteration.

use crate::geometry::poincare::dot;

/// Maximum number of iterations. The result is a starting point, so an approximation is enough.
const ITERATIONS: usize = 200;

/// Change of an axis, as a squared length, below which it has converged.
const STILL: f64 = 1e-22;

/// Orthonormalises a pair; the first keeps its direction. Vectors without a direction are replaced
/// by coordinate axes.
///
/// Both need at least two coordinates.
#[must_use]
pub fn orthonormal([first, second]: [Vec<f64>; 2]) -> [Vec<f64>; 2] {
    let first = unit(first).unwrap_or_else(|| axis(second.len(), 0));
    let along = dot(&first, &second);
    let rest = second.iter().zip(&first).map(|(s, f)| s - along * f);
    let second = unit(rest.collect()).unwrap_or_else(|| {
        // The coordinate axis along which the first has its smallest component is never parallel to
        // it.
        let least = (0..first.len()).min_by(|a, b| first[*a].abs().total_cmp(&first[*b].abs()));
        let mut other = axis(first.len(), least.unwrap_or(0));
        let along = dot(&first, &other);
        other
            .iter_mut()
            .zip(&first)
            .for_each(|(o, f)| *o -= along * f);
        unit(other).unwrap_or_default()
    });
    [first, second]
}

fn unit(v: Vec<f64>) -> Option<Vec<f64>> {
    let norm = dot(&v, &v).sqrt();
    (norm > 1e-12).then(|| v.into_iter().map(|a| a / norm).collect())
}

fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

fn axis(width: usize, at: usize) -> Vec<f64> {
    let mut v = vec![0.0; width];
    if let Some(one) = v.get_mut(at) {
        *one = 1.0;
    }
    v
}

/// Returns the two leading principal axes of rows about zero, orthonormal. The sign of each makes
/// its largest coordinate positive.
#[must_use]
pub fn axes(rows: &[Vec<f64>]) -> [Vec<f64>; 2] {
    let width = rows.first().map_or(0, Vec::len);
    let mut power = vec![0.0; width];
    for row in rows {
        power.iter_mut().zip(row).for_each(|(p, r)| *p += r * r);
    }
    let mut order: Vec<usize> = (0..width).collect();
    order.sort_by(|a, b| power[*b].total_cmp(&power[*a]));
    let start = |i: usize| axis(width, order.get(i).copied().unwrap_or(0));
    let mut pair = [start(0), start(1)];
    for _ in 0..ITERATIONS {
        let next = orthonormal([0, 1].map(|at| {
            let mut out = vec![0.0; width];
            for row in rows {
                let along = dot(row, &pair[at]);
                out.iter_mut().zip(row).for_each(|(o, r)| *o += along * r);
            }
            out
        }));
        // All iterations on thousands of rows of hundreds of numbers would take a browser a second,
        // so stop when the axes have converged.
        let change = |at: usize| squared_distance(&next[at], &pair[at]);
        let is_found = change(0).max(change(1)) < STILL;
        pair = next;
        if is_found {
            break;
        }
    }
    pair.map(|v| {
        let largest = v
            .iter()
            .copied()
            .max_by(|a, b| a.abs().total_cmp(&b.abs()))
            .unwrap_or(1.0);
        v.into_iter().map(|a| a * largest.signum()).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axes_of_a_flat_ellipse_are_found_in_order() {
        // Points of an ellipse with half-axes 3 along (0.6, 0, 0.8) and 1 along (0, 1, 0).
        let rows: Vec<Vec<f64>> = (0..12)
            .map(|i| {
                let (s, c) = (std::f64::consts::TAU * f64::from(i) / 12.0).sin_cos();
                vec![1.8 * c, s, 2.4 * c]
            })
            .collect();
        let [first, second] = axes(&rows);
        for (found, known) in first.iter().zip([0.6, 0.0, 0.8]) {
            assert!((found - known).abs() < 1e-9, "{first:?}");
        }
        for (found, known) in second.iter().zip([0.0, 1.0, 0.0]) {
            assert!((found - known).abs() < 1e-9, "{second:?}");
        }
    }

    #[test]
    fn axes_of_nearly_the_same_length_are_found_although_they_converge_slowly() {
        // Half-axes 1 and 0.98, not parallel to a coordinate axis.
        let (sin, cos) = 0.7_f64.sin_cos();
        let rows: Vec<Vec<f64>> = (0..60)
            .map(|i| {
                let (s, c) = (std::f64::consts::TAU * f64::from(i) / 60.0).sin_cos();
                let s = 0.98 * s;
                vec![c * cos - s * sin, c * sin + s * cos, 0.0]
            })
            .collect();
        let [first, _] = axes(&rows);
        let off = (first[0] * cos + first[1] * sin).abs();
        assert!(off > 1.0 - 1e-3, "{first:?}");
    }

    #[test]
    fn points_on_one_line_still_get_two_orthonormal_axes() {
        let [first, second] = axes(&[vec![1.0, 1.0, 0.0], vec![-2.0, -2.0, 0.0]]);
        assert!((dot(&first, &first) - 1.0).abs() < 1e-9);
        assert!((dot(&second, &second) - 1.0).abs() < 1e-9);
        assert!(dot(&first, &second).abs() < 1e-9);
    }
}
