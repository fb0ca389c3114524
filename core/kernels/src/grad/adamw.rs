//! A step of AdamW (Loshchilov and Hutter 2019, "Decoupled Weight Decay Regularization", algorithm 2).

use pulp::Arch;
use rayon::prelude::*;

use super::pieces::MIN_VALUES;

/// The numbers of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Learning rate.
    pub rate: f32,
    /// Decay rates of the moments.
    pub betas: [f32; 2],
    /// Factors that correct the moments for their start at 0, `1 / (1 - beta^step)`.
    pub corrections: [f32; 2],
    /// Number that is added to the square root of the second moment.
    pub eps: f32,
    /// Factor of the weights, `1 - rate * weight decay`.
    pub kept: f32,
}

impl Step {
    /// Updates weights and both moments with a gradient. All have the same length.
    pub fn update(self, weights: &mut [f32], [first, second]: [&mut [f32]; 2], grad: &[f32]) {
        let weights = weights.par_chunks_mut(MIN_VALUES);
        let first = first.par_chunks_mut(MIN_VALUES);
        let second = second.par_chunks_mut(MIN_VALUES);
        let grad = grad.par_chunks(MIN_VALUES);
        let pieces = weights.zip(first).zip(second.zip(grad));
        pieces.for_each(|((weights, first), (second, grad))| {
            Arch::new().dispatch(
                #[inline(always)]
                || self.update_piece(weights, [first, second], grad),
            );
        });
    }

    #[inline(always)]
    fn update_piece(self, weights: &mut [f32], [first, second]: [&mut [f32]; 2], grad: &[f32]) {
        let [beta1, beta2] = self.betas;
        let [correction1, correction2] = self.corrections;
        let moments = first.iter_mut().zip(second);
        for ((weight, grad), (first, second)) in weights.iter_mut().zip(grad).zip(moments) {
            *first = beta1 * *first + (1.0 - beta1) * grad;
            *second = beta2 * *second + (1.0 - beta2) * (grad * grad);
            let change = *first * correction1 / ((*second * correction2).sqrt() + self.eps);
            *weight = self.kept * *weight - self.rate * change;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_values::value;

    #[test]
    fn three_steps_are_those_of_the_algorithm() {
        let n = MIN_VALUES + 5;
        let mut weights: Vec<f32> = (0..n).map(value).collect();
        let [mut first, mut second] = [vec![0.0; n], vec![0.0; n]];
        let mut expected: Vec<[f64; 3]> =
            weights.iter().map(|w| [f64::from(*w), 0.0, 0.0]).collect();
        for step in 1..=3 {
            let numbers = Step {
                rate: 0.01,
                betas: [0.9, 0.98],
                corrections: [0.9_f32, 0.98].map(|beta| 1.0 / (1.0 - beta.powi(step))),
                eps: 1e-8,
                kept: 1.0 - 0.01 * 0.2,
            };
            let grad: Vec<f32> = (0..n).map(|i| value(i + step as usize)).collect();
            numbers.update(&mut weights, [&mut first, &mut second], &grad);
            for ([weight, m, v], g) in expected.iter_mut().zip(&grad) {
                let g = f64::from(*g);
                *m = 0.9 * *m + 0.1 * g;
                *v = 0.98 * *v + 0.02 * g * g;
                let [m, v] = [
                    *m / (1.0 - 0.9_f64.powi(step)),
                    *v / (1.0 - 0.98_f64.powi(step)),
                ];
                *weight = *weight * (1.0 - 0.01 * 0.2) - 0.01 * m / (v.sqrt() + 1e-8);
            }
        }
        for (i, expected) in expected.iter().enumerate() {
            for (found, expected) in [weights[i], first[i], second[i]].iter().zip(expected) {
                assert!((f64::from(*found) - expected).abs() < 2e-6);
            }
        }
    }
}
