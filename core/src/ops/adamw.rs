//! A step of AdamW.

use burn::tensor::Tensor;

/// The numbers of a step of AdamW (Loshchilov and Hutter 2019, "Decoupled Weight Decay
/// Regularization", algorithm 2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamWStep {
    /// Learning rate.
    pub rate: f64,
    /// Decay rates of the two moments.
    pub betas: [f32; 2],
    /// Number that is added to the square root of the second moment.
    pub eps: f32,
    /// Weight decay; the weights are multiplied by `1 - rate * decay`.
    pub decay: f32,
    /// Number of this step, from 1.
    pub step: i32,
}

impl AdamWStep {
    /// Updates the weights and their two moments, in this order, by a gradient. All have the same shape. On a
    /// CPU this is one pass through memory.
    #[must_use]
    pub fn update<const D: usize>(
        self,
        tensors: [Tensor<D>; 3],
        grad: Tensor<D>,
    ) -> [Tensor<D>; 3] {
        let [beta1, beta2] = self.betas;
        let corrections = self.betas.map(|beta| 1.0 / (1.0 - beta.powi(self.step)));
        let kept = (1.0 - self.rate * f64::from(self.decay)) as f32;
        #[cfg(feature = "flex-ops")]
        if tensors.iter().chain([&grad]).all(super::flex::are_own) {
            let step = espalier_kernels::grad::adamw::Step {
                rate: self.rate as f32,
                betas: self.betas,
                corrections,
                eps: self.eps,
                kept,
            };
            return update_values(step, tensors, grad);
        }
        let [weights, first, second] = tensors;
        let first = first * beta1 + grad.clone() * (1.0 - beta1);
        let second = second * beta2 + grad.square() * (1.0 - beta2);
        let root = (second.clone() * corrections[1]).sqrt() + self.eps;
        let change = first.clone() * corrections[0] / root;
        [weights * kept - change * self.rate, first, second]
    }
}

#[cfg(feature = "flex-ops")]
fn update_values<const D: usize>(
    step: espalier_kernels::grad::adamw::Step,
    tensors: [Tensor<D>; 3],
    grad: Tensor<D>,
) -> [Tensor<D>; 3] {
    /// Takes the values, without a copy where no other tensor has them.
    fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
        // The caller has checked the type.
        tensor.into_data().try_into_vec().unwrap_or_default()
    }
    let (shape, device) = (grad.dims(), grad.device());
    let [mut weights, mut first, mut second] = tensors.map(values);
    step.update(&mut weights, [&mut first, &mut second], &values(grad));
    [weights, first, second]
        .map(|values| Tensor::from_data(burn::tensor::TensorData::new(values, shape), &device))
}
