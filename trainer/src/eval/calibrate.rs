//! How scores become probabilities: numbers fitted on labelled pictures.

use espalier_core::caption::calibration::sharpen;
use espalier_core::caption::path::softmax;

/// Where the search for the scale of logits begins and ends, as natural logarithms.
const SCALES: (f64, f64) = (-2.0, 7.0);
/// The same for the slope of log-odds.
const SLOPES: (f64, f64) = (-2.0, 2.0);
/// Certainty is never taken to be complete.
const LEAST: f64 = 1e-6;

/// What was said of a node, and whether it held.
pub type Judgement = (f64, bool);

/// Where a function of `exp(x)` with a single minimum is smallest, by golden section.
fn smallest((mut lo, mut hi): (f64, f64), cost: impl Fn(f64) -> f64) -> f64 {
    let golden = (5.0_f64.sqrt() - 1.0) / 2.0;
    let cost = |log: f64| cost(log.exp());
    let (mut a, mut b) = (hi - golden * (hi - lo), lo + golden * (hi - lo));
    let (mut fa, mut fb) = (cost(a), cost(b));
    for _ in 0..40 {
        if fa < fb {
            (hi, b, fb) = (b, a, fa);
            a = hi - golden * (hi - lo);
            fa = cost(a);
        } else {
            (lo, a, fa) = (a, b, fb);
            b = lo + golden * (hi - lo);
            fb = cost(b);
        }
    }
    f64::midpoint(lo, hi).exp()
}

/// The scale that makes the true labels most likely (temperature scaling).
#[must_use]
pub fn fit_scale(logits: &[Vec<f64>], truth: &[usize]) -> f64 {
    smallest(SCALES, |scale| {
        let each = logits.iter().zip(truth).map(|(row, t)| {
            let p = softmax(row, scale);
            -f64::from(p[*t]).max(1e-12).ln()
        });
        each.sum()
    })
}

/// What log-odds are best multiplied by for what was said to hold as often as it was said.
#[must_use]
pub fn fit_slope(judged: &[Judgement]) -> f64 {
    smallest(SLOPES, |slope| {
        let each = judged.iter().map(|(said, right)| {
            let p = sharpen(said.clamp(LEAST, 1.0 - LEAST), slope);
            -(if *right { p } else { 1.0 - p }).max(1e-12).ln()
        });
        each.sum()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_makes_confidence_equal_to_how_often_the_answer_is_right() {
        // Two labels with logits 1 apart; the first is right in 3 of 4 cases: p = 3/4 = 1/(1+e^-s).
        let logits = vec![vec![1.0, 0.0]; 4];
        let truth = [0, 0, 0, 1];
        let scale = fit_scale(&logits, &truth);
        assert!((scale - 3.0_f64.ln()).abs() < 1e-3, "{scale}");
    }

    #[test]
    fn the_slope_corrects_what_is_said_too_surely() {
        // Odds of 9 to 1 that hold as 3 to 1: a slope of ln 3 / ln 9.
        let judged = [(0.9, true), (0.9, true), (0.9, true), (0.9, false)];
        let slope = fit_slope(&judged);
        assert!((slope - 0.5).abs() < 1e-3, "{slope}");
    }
}
