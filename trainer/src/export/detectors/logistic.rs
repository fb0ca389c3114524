//! Logistic regressions of many targets on the same inputs, each on those rows of which its target is known.

use burn::tensor::activation::sigmoid;
use burn::tensor::{Device, Tensor};
use espalier_eval::tensors::{self, matrix};

/// Strength of the ridge, relative to the mean loss of a row. Chosen on photos of another kind than those of the
/// fit: with a tenth of it, detectors learn the photos of the captions instead of what they show.
const RIDGE: f32 = 0.03;

/// Number of accelerated gradient steps (Nesterov 1983); the loss no longer changes in its fourth digit.
const STEPS: usize = 300;

/// Number of power iterations for the largest curvature of each target's loss.
const POWER_STEPS: usize = 30;

/// Rows of inputs with their targets.
pub(super) struct Rows {
    /// `[rows, inputs]`, row by row.
    pub(super) inputs: Vec<f32>,
    /// `[rows, targets]`, row by row: 0 or 1.
    pub(super) truth: Vec<f32>,
    /// `[rows, targets]`, row by row: how much a row counts; 0 where the target is unknown.
    pub(super) counts: Vec<f32>,
    /// Number of rows.
    pub(super) rows: usize,
}

/// The weights and biases of all targets.
pub(super) struct Fitted {
    /// `[targets, inputs]`, row by row.
    pub(super) weights: Vec<f32>,
    /// `[targets]`
    pub(super) bias: Vec<f32>,
}

/// Shares of the known rows of each target, and the log-odds of its truth among them.
fn shares(rows: &Rows, targets: usize) -> (Vec<f32>, Vec<f32>) {
    let sum = |values: &dyn Fn(usize) -> f32, target: usize| -> f32 {
        (0..rows.rows)
            .map(|row| values(row * targets + target))
            .sum()
    };
    let totals: Vec<f32> = (0..targets)
        .map(|target| sum(&|at| rows.counts[at], target).max(f32::MIN_POSITIVE))
        .collect();
    let log_odds = |target: usize| {
        let true_rows = sum(&|at| rows.counts[at] * rows.truth[at], target);
        let p = (true_rows / totals[target]).clamp(1e-4, 1.0 - 1e-4);
        (p / (1.0 - p)).ln()
    };
    let at = |at: usize| rows.counts[at] / totals[at % targets];
    (
        (0..rows.counts.len()).map(at).collect(),
        (0..targets).map(log_odds).collect(),
    )
}

/// Fits all targets at once. The inputs should have a mean of 0 and a standard deviation of 1.
pub(super) fn fit(rows: &Rows, targets: usize, device: &Device) -> anyhow::Result<Fitted> {
    let count = rows.rows;
    let inputs = rows.inputs.len() / count.max(1);
    let (shares, log_odds) = shares(rows, targets);
    // The last input is 1, and its weight, the bias, has no ridge.
    let ones = Tensor::<2>::ones([count, 1], device);
    let x = Tensor::cat(vec![matrix(rows.inputs.clone(), inputs, device), ones], 1);
    let across = x.clone().transpose();
    let shares = matrix(shares, targets, device);
    let truth = matrix(rows.truth.clone(), targets, device);
    let (ridge, none) = (
        Tensor::<2>::full([inputs, 1], RIDGE, device),
        Tensor::<2>::zeros([1, 1], device),
    );
    let ridge = Tensor::cat(vec![ridge, none], 0);

    // A logistic loss bends at most a quarter as much as the squared error of the same rows.
    let mut direction = Tensor::<2>::ones([inputs + 1, targets], device);
    let mut length = Tensor::<2>::ones([1, targets], device);
    for _ in 0..POWER_STEPS {
        let bent = across
            .clone()
            .matmul(x.clone().matmul(direction) * shares.clone());
        length = bent
            .clone()
            .powi_scalar(2)
            .sum_dim(0)
            .sqrt()
            .clamp_min(1e-12);
        direction = bent / length.clone();
    }
    let rate = (length * (0.25 * 1.1) + RIDGE).recip();

    let weights = Tensor::<2>::zeros([inputs, targets], device);
    let start = Tensor::cat(vec![weights, matrix(log_odds, targets, device)], 0);
    let (mut fitted, mut ahead, mut t) = (start.clone(), start, 1.0_f32);
    for _ in 0..STEPS {
        let wrong = (sigmoid(x.clone().matmul(ahead.clone())) - truth.clone()) * shares.clone();
        let gradient = across.clone().matmul(wrong) + ahead.clone() * ridge.clone();
        let next = ahead - gradient * rate.clone();
        let next_t = f32::midpoint(1.0, (1.0 + 4.0 * t * t).sqrt());
        ahead = next.clone() + (next.clone() - fitted) * ((t - 1.0) / next_t);
        (fitted, t) = (next, next_t);
    }
    let mut weights = tensors::rows(fitted.transpose())?;
    let bias = weights
        .iter_mut()
        .map(|row| row.pop().unwrap_or_default())
        .collect();
    Ok(Fitted {
        weights: weights.concat(),
        bias,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two targets on one input: the first is true above 0 in nine of ten rows, the second is known in every other
    /// row and always true there.
    fn rows() -> Rows {
        let at = |row: usize| if row < 100 { -1.0 } else { 1.0 };
        let is_true = |row: usize| (at(row) > 0.0) != row.is_multiple_of(10);
        Rows {
            inputs: (0..200).map(at).collect(),
            truth: (0..200)
                .flat_map(|row| [f32::from(u8::from(is_true(row))), 1.0])
                .collect(),
            counts: (0..200).flat_map(|row| [1.0, (row % 2) as f32]).collect(),
            rows: 200,
        }
    }

    #[test]
    fn the_gradient_of_the_fit_is_zero() {
        let fitted = fit(&rows(), 2, &Device::default()).unwrap();
        let (w, b) = (f64::from(fitted.weights[0]), f64::from(fitted.bias[0]));
        let p = |x: f64| 1.0 / (1.0 + (-(w * x + b)).exp());
        // Of the rows at 1, nine of ten are true; of those at -1, one of ten.
        let slope = 0.5 * (p(1.0) - 0.9) - 0.5 * (p(-1.0) - 0.1) + f64::from(RIDGE) * w;
        let offset = 0.5 * (p(1.0) - 0.9) + 0.5 * (p(-1.0) - 0.1);
        assert!(
            slope.abs() < 1e-4 && offset.abs() < 1e-4,
            "{slope} {offset}"
        );
        assert!(w > 1.0, "{w}");
    }

    #[test]
    fn a_target_that_is_always_true_where_it_is_known_is_certain() {
        let fitted = fit(&rows(), 2, &Device::default()).unwrap();
        assert!(fitted.bias[1] > 4.0, "{}", fitted.bias[1]);
        assert!(fitted.weights[1].abs() < 0.1, "{}", fitted.weights[1]);
    }
}
