//! Measures repeated work for a given time.

use std::time::Instant;

use anyhow::Result;
use serde_json::{Value, json};

const LEAST_REPEATS: usize = 2;

/// Repeats the work for about `seconds`, after one repeat that is not measured. Returns the keys
/// that `benches/peers/clock.py` returns; a repeat computes `count` images.
pub fn timed(seconds: f64, count: usize, mut work: impl FnMut() -> Result<()>) -> Result<Value> {
    work()?;
    let (mut times, begun) = (Vec::new(), Instant::now());
    while times.len() < LEAST_REPEATS || begun.elapsed().as_secs_f64() < seconds {
        let since = Instant::now();
        work()?;
        times.push(since.elapsed().as_secs_f64());
    }
    let best = times.iter().copied().fold(f64::INFINITY, f64::min);
    Ok(json!({
        "seconds_per_image": median(&times) / count as f64,
        "best_seconds_per_image": best / count as f64,
    }))
}

/// Returns the median; NaN for an empty list.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (sorted.len().saturating_sub(1) / 2, sorted.len() / 2);
    match (sorted.get(low), sorted.get(high)) {
        (Some(low), Some(high)) => f64::midpoint(*low, *high),
        _ => f64::NAN,
    }
}
