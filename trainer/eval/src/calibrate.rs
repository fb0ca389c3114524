//! Calibration of scores into probabilities, fitted on labelled images.

use espalier_core::caption::classifier::softmax;
use espalier_core::caption::evidence::INPUTS;

/// Search interval for the scale of the logits, as natural logarithms.
const SCALES: (f64, f64) = (-2.0, 7.0);

/// Returns the scale that maximises the likelihood of the true labels (temperature scaling), by
/// golden-section search over its logarithm.
pub fn fit_scale(logits: &[Vec<f64>], truth: &[usize]) -> f64 {
    let cost = |log: f64| -> f64 {
        let each = logits.iter().zip(truth).map(|(row, t)| {
            let p = softmax(row, log.exp());
            -f64::from(p[*t]).max(1e-12).ln()
        });
        each.sum()
    };
    let golden = (5.0_f64.sqrt() - 1.0) / 2.0;
    let (mut lo, mut hi) = SCALES;
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

/// One sample for the fit of a logistic model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case {
    /// Inputs of the model.
    pub inputs: [f64; INPUTS],
    /// Whether the outcome is positive.
    pub right: bool,
    /// Weight of the sample, above 0.
    pub weight: f64,
}

/// Ridge penalty toward the starting weights; it stabilises fits on few cases.
const RIDGE: f64 = 1e-3;
/// Newton steps; the loss is convex and few are needed.
const NEWTON_STEPS: usize = 50;

/// Returns the maximum-likelihood weights of a logistic model, by Newton's method with a weak ridge
/// penalty toward `start`.
pub fn fit_logistic(cases: &[Case], start: [f64; INPUTS]) -> [f64; INPUTS] {
    let total: f64 = cases.iter().map(|case| case.weight).sum();
    let mut weights = start;
    if total <= 0.0 {
        return weights;
    }
    for _ in 0..NEWTON_STEPS {
        let mut gradient = [0.0; INPUTS];
        let mut hessian = [[0.0; INPUTS]; INPUTS];
        for i in 0..INPUTS {
            gradient[i] = RIDGE * (weights[i] - start[i]);
            hessian[i][i] = RIDGE;
        }
        for case in cases {
            let sum: f64 = case.inputs.iter().zip(&weights).map(|(x, w)| x * w).sum();
            let p = 1.0 / (1.0 + (-sum.clamp(-30.0, 30.0)).exp());
            let share = case.weight / total;
            let error = share * (p - f64::from(u8::from(case.right)));
            let curvature = share * p * (1.0 - p);
            for (i, x) in case.inputs.iter().enumerate() {
                gradient[i] += error * x;
                for (j, y) in case.inputs.iter().enumerate() {
                    hessian[i][j] += curvature * x * y;
                }
            }
        }
        let step = solve(hessian, gradient);
        let longest = step.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        // A long step overshoots where almost all cases are certain.
        let factor = if longest > 1.0 { 1.0 / longest } else { 1.0 };
        for (weight, step) in weights.iter_mut().zip(step) {
            *weight -= factor * step;
        }
        if longest < 1e-9 {
            break;
        }
    }
    weights
}

/// Solves `a x = b` for a symmetric positive definite matrix, by elimination.
fn solve(mut a: [[f64; INPUTS]; INPUTS], mut b: [f64; INPUTS]) -> [f64; INPUTS] {
    for pivot in 0..INPUTS {
        let row = a[pivot];
        let value = b[pivot];
        for below in pivot + 1..INPUTS {
            let factor = a[below][pivot] / row[pivot];
            for (x, y) in a[below].iter_mut().zip(row) {
                *x -= factor * y;
            }
            b[below] -= factor * value;
        }
    }
    let mut x = [0.0; INPUTS];
    for i in (0..INPUTS).rev() {
        let known: f64 = (i + 1..INPUTS).map(|j| a[i][j] * x[j]).sum();
        x[i] = (b[i] - known) / a[i][i];
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Inputs or weights with a single nonzero entry.
    fn only(index: usize, value: f64) -> [f64; INPUTS] {
        std::array::from_fn(|i| if i == index { value } else { 0.0 })
    }

    fn case(inputs: [f64; INPUTS], right: bool, weight: f64) -> Case {
        Case {
            inputs,
            right,
            weight,
        }
    }

    #[test]
    fn the_scale_makes_confidence_equal_to_accuracy() {
        // Two labels with logits 1 apart; the first is right in 3 of 4 cases: p = 3/4 = 1/(1+e^-s).
        let logits = vec![vec![1.0, 0.0]; 4];
        let truth = [0, 0, 0, 1];
        let scale = fit_scale(&logits, &truth);
        assert!((scale - 3.0_f64.ln()).abs() < 1e-3, "{scale}");
    }

    #[test]
    fn a_logistic_model_recovers_the_odds() {
        // With the second input at 1 three of four hold, at -1 one of four: log-odds of +-ln 3.
        let at_one = [true, true, true, false].into_iter();
        let cases = at_one.flat_map(|right| [(1.0, right), (-1.0, !right)]);
        let cases = cases.map(|(input, right)| case(only(3, input), right, 1.0));
        let cases: Vec<Case> = cases.collect();
        let weights = fit_logistic(&cases, only(0, 1.0));
        assert!((weights[3] - 3.0_f64.ln()).abs() < 0.01, "{weights:?}");
        assert!((weights[0] - 1.0).abs() < 1e-9 && weights[4].abs() < 1e-9);
    }

    #[test]
    fn cases_are_weighted() {
        let cases = [(true, 3.0), (false, 1.0)].map(|(right, w)| case(only(1, 1.0), right, w));
        let weights = fit_logistic(&cases, [0.0; INPUTS]);
        assert!((weights[1] - 3.0_f64.ln()).abs() < 0.02, "{weights:?}");
    }
}
