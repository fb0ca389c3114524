//! How scores become probabilities: one scale, fitted on labelled pictures.

use espalier_core::caption::path::softmax;

/// Where the search for the scale begins and ends, as natural logarithms.
const SEARCH: (f64, f64) = (-2.0, 7.0);

/// Mean negative log-likelihood of the true labels when logits are multiplied by `scale`.
fn nll(logits: &[Vec<f64>], truth: &[usize], scale: f64) -> f64 {
    let each = logits.iter().zip(truth).map(|(row, t)| {
        let p = softmax(row, scale);
        -f64::from(p[*t]).max(1e-12).ln()
    });
    each.sum::<f64>() / truth.len().max(1) as f64
}

/// The scale that makes the true labels most likely (temperature scaling), by golden section: the
/// likelihood has a single maximum.
#[must_use]
pub fn fit_scale(logits: &[Vec<f64>], truth: &[usize]) -> f64 {
    let golden = (5.0_f64.sqrt() - 1.0) / 2.0;
    let (mut lo, mut hi) = SEARCH;
    let cost = |log: f64| nll(logits, truth, log.exp());
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

/// Expected calibration error of the most probable label over ten equal bins of confidence.
#[must_use]
pub fn expected_error(logits: &[Vec<f64>], truth: &[usize], scale: f64) -> f64 {
    let mut bins = [(0.0_f64, 0.0_f64, 0.0_f64); 10];
    for (row, t) in logits.iter().zip(truth) {
        let p = softmax(row, scale);
        let best = (0..p.len())
            .max_by(|a, b| p[*a].total_cmp(&p[*b]))
            .unwrap_or(0);
        let bin = &mut bins[((p[best] * 10.0) as usize).min(9)];
        bin.0 += 1.0;
        bin.1 += f64::from(p[best]);
        bin.2 += f64::from(u8::from(best == *t));
    }
    let n = truth.len().max(1) as f64;
    bins.iter()
        .map(|(_, said, right)| (said - right).abs())
        .sum::<f64>()
        / n
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
        assert!(expected_error(&logits, &truth, scale) < 1e-3);
        assert!(expected_error(&logits, &truth, 10.0) > 0.2);
    }
}
