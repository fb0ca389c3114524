//! Distances between two distributions over labels (notation 6.8).
//!
//! The paper reports a one-dimensional Wasserstein distance but gives the labels no coordinates.
//! This module has both interpretations that fit its numbers, and total variation, which needs no
//! coordinates.

/// `sum_t |sum_{i <= t} (h_i - r_i)|`: Wasserstein distance with labels at `0, 1, 2, ..`. Depends
/// on the order of the labels.
pub fn on_indices(h: &[f64], r: &[f64]) -> f64 {
    let mut ahead = 0.0_f64;
    let each = h.iter().zip(r).map(|(a, b)| {
        ahead += a - b;
        ahead.abs()
    });
    // After the last label both cumulative sums are equal.
    each.take(h.len().saturating_sub(1)).sum()
}

/// Returns the distance between the *values* of two vectors of one length, each value a sample of
/// weight `1 / n`: the result of a library's `W1` of two arguments. Ignores which label holds the
/// mass.
pub fn of_values(h: &[f64], r: &[f64]) -> f64 {
    let sorted = |v: &[f64]| {
        let mut v = v.to_vec();
        v.sort_by(f64::total_cmp);
        v
    };
    let n = h.len().min(r.len()).max(1) as f64;
    let (h, r) = (sorted(h), sorted(r));
    h.iter().zip(&r).map(|(a, b)| (a - b).abs()).sum::<f64>() / n
}

/// `sum_i |h_i - r_i| / 2`, in `[0, 1]`; independent of the order of the labels.
pub fn total_variation(h: &[f64], r: &[f64]) -> f64 {
    h.iter().zip(r).map(|(a, b)| (a - b).abs()).sum::<f64>() / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, known: f64) {
        assert!((found - known).abs() < 1e-12, "{found} {known}");
    }

    #[test]
    fn reference_values_are_reproduced() {
        // notation 9.8.
        near(on_indices(&[0.5, 0.3, 0.2], &[0.2, 0.3, 0.5]), 0.6);
        let (h, r) = ([0.4, 0.1, 0.3, 0.2], [0.25, 0.25, 0.5, 0.0]);
        near(on_indices(&h, &r), 0.35);
        // The cumulative differences are 0.1, 0.3, 0.1 and 0.
        let other = on_indices(&[0.3, 0.4, 0.1, 0.2], &[0.2, 0.2, 0.3, 0.3]);
        near(other, 0.5);
        near(total_variation(&h, &r), 0.35);
        near(of_values(&h, &r), 0.075);
    }

    #[test]
    fn equal_distributions_have_distance_zero() {
        let h = [0.25, 0.75];
        for distance in [on_indices, of_values, total_variation] {
            near(distance(&h, &h), 0.0);
        }
        near(on_indices(&[], &[]), 0.0);
    }
}
