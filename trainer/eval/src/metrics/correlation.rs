//! Correlation of two lists of numbers, or of one with its order.

use std::cmp::Ordering;

/// Returns Pearson's correlation, in `[-1, 1]`; `None` for fewer than two pairs or a constant list.
pub fn pearson(x: &[f64], y: &[f64]) -> Option<f64> {
    let n = x.len().min(y.len());
    if n < 2 {
        return None;
    }
    let deviations = |v: &[f64]| {
        let mean = v[..n].iter().sum::<f64>() / n as f64;
        v[..n].iter().map(|value| value - mean).collect::<Vec<_>>()
    };
    let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
    for (a, b) in deviations(x).into_iter().zip(deviations(y)) {
        xy += a * b;
        xx += a * a;
        yy += b * b;
    }
    let spread = (xx * yy).sqrt();
    (spread > 0.0).then(|| (xy / spread).clamp(-1.0, 1.0))
}

/// Ranks from 1; tied values share the mean of their ranks (notation trap 39).
pub fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    for group in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let shared = start as f64 + (group.len() as f64 + 1.0) / 2.0;
        for at in group {
            ranks[*at] = shared;
        }
        start += group.len();
    }
    ranks
}

/// Returns Spearman's correlation: Pearson's of the ranks (notation 6.5). `None` as for
/// [`pearson`].
pub fn spearman(x: &[f64], y: &[f64]) -> Option<f64> {
    pearson(&ranks(x), &ranks(y))
}

/// Returns Kendall's tau between values and their order, in `[-1, 1]`: concordant minus discordant
/// pairs, over all pairs. Ties count as neither.
///
/// Without ties this is the published statistic of radii (notation 6.4), which compares an argsort
/// with `1 .. n`.
pub fn kendall_tau(values: &[f64]) -> f64 {
    let mut sum = 0.0;
    let mut pairs = 0_u32;
    for (i, a) in values.iter().enumerate() {
        for b in &values[i + 1..] {
            pairs += 1;
            sum += match a.partial_cmp(b) {
                Some(Ordering::Less) => 1.0,
                Some(Ordering::Greater) => -1.0,
                _ => 0.0,
            };
        }
    }
    sum / f64::from(pairs.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tau_counts_pairs() {
        assert_eq!(kendall_tau(&[1.0, 2.0, 3.0, 4.0]), 1.0);
        assert_eq!(kendall_tau(&[4.0, 3.0, 2.0, 1.0]), -1.0);
        // One of six pairs is out of order.
        assert!((kendall_tau(&[1.0, 3.0, 2.0, 4.0]) - 4.0 / 6.0).abs() < 1e-12);
        assert_eq!(kendall_tau(&[1.0, 1.0]), 0.0);
    }

    #[test]
    fn tied_values_share_their_ranks() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
    }

    #[test]
    fn spearman_is_one_for_any_growing_relation() {
        let x = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(spearman(&x, &[1.0, 10.0, 100.0, 1000.0]), Some(1.0));
        assert_eq!(spearman(&x, &[4.0, 3.0, 2.0, 1.0]), Some(-1.0));
        // d = 0, 0, 1, 1: rho = 1 - 6 * 2 / (4 * 15) = 0.8.
        let rho = spearman(&x, &[1.0, 2.0, 4.0, 3.0]).unwrap();
        assert!((rho - 0.8).abs() < 1e-12);
    }

    #[test]
    fn spearman_with_ties_is_pearson_of_average_ranks() {
        // Ranks of y: 1.5, 1.5, 3, 4. Covariance 4.5, variances 5 and 4.5.
        let rho = spearman(&[1.0, 2.0, 3.0, 4.0], &[5.0, 5.0, 6.0, 7.0]).unwrap();
        assert!((rho - 4.5 / (5.0_f64 * 4.5).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn a_correlation_needs_two_pairs_and_spread() {
        assert_eq!(spearman(&[1.0, 2.0], &[3.0, 3.0]), None);
        assert_eq!(pearson(&[1.0], &[2.0]), None);
        assert_eq!(pearson(&[1.0, 2.0], &[3.0, 5.0]), Some(1.0));
    }
}
