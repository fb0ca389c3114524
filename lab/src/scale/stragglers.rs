//! Simulation of stragglers: a step lasts as long as the slowest process, whose times are drawn from
//! those of a measured run.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::chance::Chance;

/// Steps of a simulation.
const STEPS: u32 = 10_000;

/// First steps of a run, which compile kernels and fill caches.
const WARM_UP: usize = 5;

/// Reads the times of the steps of a run, in seconds.
///
/// # Errors
/// If there are fewer than 20 consecutive steps after the first ones.
pub(super) fn step_times(path: &Path) -> Result<Vec<f64>> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let mut times = Vec::new();
    let mut before: Option<(u64, f64)> = None;
    for (row, line) in text.lines().enumerate() {
        let place = || format!("{}, line {}", path.display(), row + 1);
        let line: serde_json::Value = serde_json::from_str(line).with_context(place)?;
        let (Some(step), Some(elapsed)) = (line["step"].as_u64(), line["elapsed_s"].as_f64())
        else {
            bail!("{}: expected `step` and `elapsed_s`", place());
        };
        // A resumed run counts its time from 0.
        if let Some((last, time)) = before
            && step == last + 1
            && elapsed > time
        {
            times.push(elapsed - time);
        }
        before = Some((step, elapsed));
    }
    let times = times.split_off(WARM_UP.min(times.len()));
    if times.len() < 20 {
        bail!(
            "{}: expected at least 20 consecutive steps after the first {WARM_UP} \
             (`train.log_frequency=1`), found {}",
            path.display(),
            times.len()
        );
    }
    Ok(times)
}

/// Returns how much longer than the mean the slowest of `processes` takes, on average.
fn slowdown(times: &[f64], processes: u32, chance: &mut Chance) -> f64 {
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    let slowest = |chance: &mut Chance| {
        (0..processes)
            .map(|_| chance.one_of(times))
            .fold(0.0, f64::max)
    };
    let sum: f64 = (0..STEPS).map(|_| slowest(chance)).sum();
    sum / f64::from(STEPS) / mean
}

/// Returns the table.
pub(super) fn table(times: &[f64], processes: &[u32], seed: u64) -> String {
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    let slowest = times.iter().copied().fold(0.0, f64::max);
    let mut out = format!(
        "Stragglers: {} measured steps, {mean:.3} s on average, {slowest:.3} s at most\n\n\
         | processes | time of a step, of the average |\n|--:|--:|\n",
        times.len()
    );
    let mut chance = Chance::new(seed);
    for &w in processes {
        let _ = writeln!(out, "| {w} | {:.3} |", slowdown(times, w, &mut chance));
    }
    out.push('\n');
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_of_many_is_the_slowest_of_all() {
        let mut chance = Chance::new(2);
        let times: Vec<f64> = (1..=100).map(f64::from).collect();
        let one = slowdown(&times, 1, &mut chance);
        assert!((one - 1.0).abs() < 0.02, "{one}");
        let many = slowdown(&times, 1_000, &mut chance);
        assert!((many - 100.0 / 50.5).abs() < 0.02, "{many}");
        assert!((slowdown(&[2.0; 20], 64, &mut chance) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn times_are_those_between_consecutive_steps() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("metrics.jsonl");
        let line = |step: u64, at: f64| format!("{{\"step\":{step},\"elapsed_s\":{at}}}\n");
        let mut text: String = (1..=30).map(|step| line(step, step as f64 * 0.5)).collect();
        // After a pause in the log, and after a restart.
        text.push_str(&line(40, 20.0));
        text.push_str(&line(41, 3.0));
        text.push_str(&line(42, 3.25));
        fs::write(&path, &text).unwrap();
        let times = step_times(&path).unwrap();
        assert_eq!((times.len(), times[0], times[24]), (25, 0.5, 0.25));
        fs::write(&path, line(1, 0.5)).unwrap();
        let error = step_times(&path).unwrap_err().to_string();
        assert!(error.contains("at least 20 consecutive steps"), "{error}");
        fs::write(&path, "{}\n").unwrap();
        let error = step_times(&path).unwrap_err().to_string();
        assert!(
            error.ends_with("line 1: expected `step` and `elapsed_s`"),
            "{error}"
        );
    }
}
