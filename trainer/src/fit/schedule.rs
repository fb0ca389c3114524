//! The learning rate of each step (METHODS 4).

use std::f64::consts::FRAC_PI_2;

/// Factor of the learning rate at step `n` (from 0) of `total`: `n / warmup` at first, so that the
/// very first step has rate 0, then `cos^2` down to 0.
#[must_use]
pub fn multiplier(n: u64, warmup: u64, total: u64) -> f64 {
    if n < warmup {
        return n as f64 / warmup as f64;
    }
    let span = total.saturating_sub(warmup).max(1);
    let share = ((n - warmup) as f64 / span as f64).min(1.0);
    (FRAC_PI_2 * share).cos().powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_multipliers_hold() {
        // METHODS 9.8: N = 500,000, warm-up 4,000.
        for (n, known) in [
            (0, 0.0),
            (1, 0.00025),
            (2000, 0.5),
            (3999, 0.99975),
            (4000, 1.0),
            (100_000, 0.910_381_720_604),
            (252_000, 0.5),
            (400_000, 0.096_985_868_273),
        ] {
            assert!(
                (multiplier(n, 4000, 500_000) - known).abs() < 1e-12,
                "step {n}"
            );
        }
    }

    #[test]
    fn a_run_shorter_than_its_warm_up_has_finite_rates() {
        assert!((0..10).all(|n| multiplier(n, 100, 10).is_finite()));
        assert!(multiplier(5, 0, 5) < 1e-12);
    }
}
