//! Simulation of failures: what part of the time does work that is kept.

use std::fmt::Write as _;

use crate::chance::Chance;

/// Failures that each simulation goes through.
const FAILURES: u32 = 2_000;

/// What is known of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stops {
    pub(super) step_seconds: f64,
    /// Hours between failures of one process.
    pub(super) hours_to_failure: f64,
    pub(super) save_frequency: u32,
    pub(super) save_seconds: f64,
    pub(super) restart_seconds: f64,
}

impl Stops {
    /// Returns the share of the time that does steps which no failure loses. One failing process
    /// stops all; times between failures are exponential.
    fn kept(&self, processes: u32, chance: &mut Chance) -> f64 {
        let mean = self.hours_to_failure * 3600.0 / f64::from(processes);
        let interval = f64::from(self.save_frequency) * self.step_seconds;
        let cycle = interval + self.save_seconds;
        let (mut kept, mut all) = (0.0, 0.0);
        for _ in 0..FAILURES {
            let lasted = -mean * (1.0 - chance.fraction()).ln();
            kept += (lasted / cycle).floor() * interval;
            all += lasted + self.restart_seconds;
        }
        kept / all
    }
}

/// Returns the table.
pub(super) fn table(stops: &Stops, processes: &[u32], seed: u64) -> String {
    let mut out = format!(
        "Failures: one process fails every {:.0} hours, checkpoints every {} steps of {:.3} s take {:.0} s, a \
         restart takes {:.0} s\n\n| processes | hours between stops | share of the time that is kept |\n|--:|--:|--:|\n",
        stops.hours_to_failure,
        stops.save_frequency,
        stops.step_seconds,
        stops.save_seconds,
        stops.restart_seconds
    );
    let mut chance = Chance::new(seed);
    for &w in processes {
        let _ = writeln!(
            out,
            "| {w} | {:.0} | {:.3} |",
            stops.hours_to_failure / f64::from(w),
            stops.kept(w, &mut chance)
        );
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_processes_keep_less_and_rare_failures_cost_the_checkpoints_alone() {
        let stops = Stops {
            step_seconds: 0.5,
            hours_to_failure: 1e6,
            save_frequency: 100,
            save_seconds: 5.0,
            restart_seconds: 60.0,
        };
        let mut chance = Chance::new(3);
        let rare = stops.kept(1, &mut chance);
        assert!((rare - 50.0 / 55.0).abs() < 1e-3, "{rare}");
        let often = Stops {
            hours_to_failure: 1.0,
            ..stops
        };
        let (few, many) = (often.kept(2, &mut chance), often.kept(16, &mut chance));
        assert!(many < few && few < rare && many > 0.0, "{many} {few}");
    }
}
