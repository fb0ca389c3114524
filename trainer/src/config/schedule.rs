//! The learning rate of each step (notation 4, 2.5, 2.7).

use std::f64::consts::{FRAC_PI_2, PI};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// How the learning rate changes over a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// Linear warm-up, then the square of a cosine down to 0 (the MERU family).
    CosineSquared,
    /// Cosine growth from 1/25 of the peak over the first three tenths of the run, then cosine
    /// decay to 1/250,000 of the peak (RCME).
    OneCycle,
    /// Linear warm-up, then constant (RE, without warm-up).
    Constant,
}

/// Ratios of the one-cycle schedule: peak to first rate, and first to last rate.
const ONE_CYCLE: (f64, f64) = (25.0, 1e4);
/// Share of the one-cycle schedule in which the rate grows.
const GROWTH_FRACTION: f64 = 0.3;

impl Schedule {
    /// Returns the factor of the learning rate at step `n` (from 0) of `total`.
    ///
    /// During warm-up the factor is `n / warmup`, so step 0 has rate 0. The one-cycle schedule
    /// ignores `warmup`; it has its own.
    pub fn multiplier(self, n: u64, warmup: u64, total: u64) -> f64 {
        if self == Self::OneCycle {
            return one_cycle(n, total);
        }
        if n < warmup {
            return n as f64 / warmup as f64;
        }
        if self == Self::Constant {
            return 1.0;
        }
        let span = total.saturating_sub(warmup).max(1);
        let share = ((n - warmup) as f64 / span as f64).min(1.0);
        (FRAC_PI_2 * share).cos().powi(2)
    }
}

/// Computes PyTorch's `OneCycleLR` with its defaults: the peak is at step `0.3 total - 1`, the end
/// at `total - 1`.
fn one_cycle(n: u64, total: u64) -> f64 {
    let (first, last) = (1.0 / ONE_CYCLE.0, 1.0 / (ONE_CYCLE.0 * ONE_CYCLE.1));
    let interpolate = |from: f64, to: f64, share: f64| {
        let share = share.clamp(0.0, 1.0);
        to + (from - to) * 0.5 * (1.0 + (PI * share).cos())
    };
    let (n, end) = (n as f64, total as f64 - 1.0);
    let peak = GROWTH_FRACTION * total as f64 - 1.0;
    if n <= peak {
        interpolate(first, 1.0, n / peak.max(1.0))
    } else {
        interpolate(1.0, last, (n - peak) / (end - peak).max(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_multipliers_hold() {
        // notation 9.8: N = 500,000, warm-up 4,000.
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
            let found = Schedule::CosineSquared.multiplier(n, 4000, 500_000);
            assert!((found - known).abs() < 1e-12, "step {n}");
        }
    }

    #[test]
    fn one_cycle_matches_torch() {
        // torch.optim.lr_scheduler.OneCycleLR(max_lr=1, total_steps=1000).
        for (n, known) in [(0, 0.04), (299, 1.0), (999, 4e-6)] {
            let found = Schedule::OneCycle.multiplier(n, 50, 1000);
            assert!((found - known).abs() < 1e-9, "step {n}: {found}");
        }
        let rates: Vec<f64> = (0..1000)
            .map(|n| Schedule::OneCycle.multiplier(n, 0, 1000))
            .collect();
        assert!(rates[..300].windows(2).all(|w| w[0] < w[1]));
        assert!(rates[299..].windows(2).all(|w| w[0] > w[1]));
    }

    #[test]
    fn a_constant_rate_warms_up_and_stays() {
        let rate = |n| Schedule::Constant.multiplier(n, 10, 100);
        assert_eq!((rate(0), rate(5), rate(10), rate(99)), (0.0, 0.5, 1.0, 1.0));
    }

    #[test]
    fn a_run_shorter_than_its_warm_up_has_finite_rates() {
        for schedule in [
            Schedule::CosineSquared,
            Schedule::OneCycle,
            Schedule::Constant,
        ] {
            for total in [1, 2, 10] {
                assert!((0..total).all(|n| schedule.multiplier(n, 100, total).is_finite()));
            }
        }
        assert!(Schedule::CosineSquared.multiplier(5, 0, 5) < 1e-12);
    }
}
