//! Whether more specific texts lie farther from the root (notation 6.4).

use std::collections::BTreeMap;

use espalier_core::geometry::Space;

use super::metrics::named;

/// Returns Kendall's tau between radii and their order, in `[-1, 1]`: concordant minus discordant
/// pairs, over all pairs. Ties count as neither.
///
/// Without ties this is the published statistic, which compares an argsort with `1 .. n`.
pub fn kendall_tau(radii: &[f64]) -> f64 {
    let mut sum = 0.0;
    let mut pairs = 0_u32;
    for (i, a) in radii.iter().enumerate() {
        for b in &radii[i + 1..] {
            pairs += 1;
            sum += match a.partial_cmp(b) {
                Some(std::cmp::Ordering::Less) => 1.0,
                Some(std::cmp::Ordering::Greater) => -1.0,
                _ => 0.0,
            };
        }
    }
    sum / f64::from(pairs.max(1))
}

/// `tau_d`, the mean over chains, and the share of chains that are fully in order.
///
/// `points` holds the texts of all chains one after the other, `lengths` their numbers of texts.
pub fn metrics(space: &Space, points: &[Vec<f32>], lengths: &[usize]) -> BTreeMap<String, f64> {
    let mut radii = points.iter().map(|point| space.radius(point));
    let taus: Vec<f64> = lengths
        .iter()
        .map(|length| kendall_tau(&radii.by_ref().take(*length).collect::<Vec<_>>()))
        .collect();
    let n = taus.len().max(1) as f64;
    let in_order = taus.iter().filter(|tau| **tau >= 1.0).count();
    named([
        ("tau_d", taus.iter().sum::<f64>() / n),
        ("in_order", in_order as f64 / n),
    ])
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
    fn the_mean_runs_over_chains() {
        let space = Space::Lorentz { curvature: 1.0 };
        let point = |r: f32| vec![r, 0.0];
        let points = [0.1, 0.2, 0.6, 0.5, 0.4].map(point);
        let m = metrics(&space, &points, &[2, 3]);
        assert_eq!((m["tau_d"], m["in_order"]), (0.0, 0.5));
    }
}
