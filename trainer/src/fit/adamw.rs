//! AdamW as an optimiser of modules.

use burn::optim::{AdamWState, AdaptiveMomentumState, LearningRate, Optimizer};
use burn::tensor::{Device, Tensor};
use espalier_core::ops;

use crate::config::OptimConfig;

/// AdamW with the same state as Burn's, so that each resumes runs of the other. On a CPU a step is one pass through
/// memory by all threads; Burn's takes a dozen, by one thread.
#[derive(Clone)]
pub struct AdamW {
    betas: [f32; 2],
    eps: f32,
    decay: f32,
}

impl AdamW {
    /// Takes the values of a configuration, with this weight decay.
    pub fn new(config: &OptimConfig, decay: f32) -> Self {
        Self {
            betas: [config.beta1, config.beta2],
            eps: config.eps,
            decay,
        }
    }
}

impl Optimizer for AdamW {
    type State<const D: usize> = AdamWState<D>;

    fn step<const D: usize>(
        &self,
        rate: LearningRate,
        weights: Tensor<D>,
        grad: Tensor<D>,
        state: Option<Self::State<D>>,
    ) -> (Tensor<D>, Option<Self::State<D>>) {
        let moments = state.map_or_else(
            || AdaptiveMomentumState::new(0, grad.zeros_like(), grad.zeros_like()),
            |state| state.momentum,
        );
        let step = moments.time + 1;
        let update = ops::AdamWStep {
            rate,
            betas: self.betas,
            eps: self.eps,
            decay: self.decay,
            step: i32::try_from(step).unwrap_or(i32::MAX),
        };
        let tensors = [weights, moments.moment_1, moments.moment_2];
        let [weights, first, second] = update.update(tensors, grad);
        let moments = AdaptiveMomentumState::new(step, first, second);
        (weights, Some(AdamWState::new(moments)))
    }

    fn to_device<const D: usize>(state: Self::State<D>, device: &Device) -> Self::State<D> {
        burn::optim::AdamW::to_device(state, device)
    }
}

#[cfg(test)]
mod tests {
    use burn::nn::LinearConfig;
    use burn::optim::{AdamWConfig, GradientsParams, ModuleOptimizer};
    use burn::tensor::{Distribution, TensorData};

    use super::*;

    #[test]
    fn steps_are_those_of_burn_whose_state_is_taken_over() {
        let device = Device::flex().autodiff();
        let ours = AdamW {
            betas: [0.9, 0.98],
            eps: 1e-8,
            decay: 0.2,
        };
        let burn = AdamWConfig::new()
            .with_beta_2(0.98)
            .with_epsilon(1e-8)
            .with_weight_decay(0.2);
        let linear = LinearConfig::new(7, 5).init(&device);
        let x = Tensor::<2>::random([4, 7], Distribution::Normal(0.0, 1.0), &device);
        // Two steps of Burn's, then three of each from the same state.
        let step = |optimizer: &mut ModuleOptimizer, linear: burn::nn::Linear| {
            let loss = linear.forward(x.clone()).powi_scalar(2).sum();
            let grads = GradientsParams::from_grads(loss.backward(), &linear);
            optimizer.step(0.01, linear, grads)
        };
        let mut burn = burn.init();
        let linear = (0..2).fold(linear, |linear, _| step(&mut burn, linear));
        let mut taken_over = ModuleOptimizer::from(ours).load_record(burn.to_record());
        let mut both = [linear.clone(), linear.clone()];
        for _ in 0..3 {
            let [a, b] = both;
            both = [step(&mut burn, a), step(&mut taken_over, b)];
        }
        let [expected, found] = both.map(|linear| linear.weight.val().into_data());
        let before = linear.weight.val().into_data();
        let numbers = |data: &TensorData| data.iter::<f32>().collect::<Vec<_>>();
        let (expected, found, before) = (numbers(&expected), numbers(&found), numbers(&before));
        assert!(
            expected
                .iter()
                .zip(&before)
                .any(|(a, b)| (a - b).abs() > 1e-3)
        );
        for (expected, found) in expected.iter().zip(found) {
            assert!((expected - found).abs() < 1e-6, "{expected} {found}");
        }
    }
}
