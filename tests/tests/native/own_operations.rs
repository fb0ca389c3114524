//! Training on the own operations of Burn's CPU backend gives the values and gradients of Burn's.
//!
//! The choice between them and the stream of random numbers are global to a process, so each of these
//! tests runs in one of its own.

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Device, Distribution, Gradients, Tensor};
use espalier_core::input::Tokenizer;
use espalier_core::model::{DualConfig, Pool, Preset, Tokens, VitConfig};
use espalier_core::nn::{Activation, InvertedConfig, InvertedStage, Norms, StageConfig};
use espalier_core::ops;

use crate::alone::alone;

/// Adds noise to every learned parameter: as initialised, some biases and gains are 0.
struct Disturb;

impl ModuleMapper for Disturb {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let learned = param.is_require_grad();
        param.map(|t| {
            let (shape, device) = (t.dims(), t.device());
            let noise = Tensor::random(shape, Distribution::Normal(0.0, 0.02), &device.inner());
            let strategy = t.gradient_checkpointing_strategy().unwrap();
            let sum = (t.inner() + noise).autodiff();
            let sum = sum.with_gradient_checkpointing_strategy(strategy);
            sum.set_require_grad(learned)
        })
    }
}

/// Collects the gradients of all parameters that have one.
struct Collect<'a> {
    grads: &'a Gradients,
    found: Vec<Vec<f32>>,
}

impl ModuleVisitor for Collect<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(grad) = param.val().grad(self.grads) {
            self.found.push(grad.into_data().iter::<f32>().collect());
        }
    }
}

/// Returns the features, then the gradient of each parameter, for a fixed weighting of the
/// features.
fn passes<M: Module>(module: &M, features: Tensor<2>) -> Vec<Vec<f32>> {
    let device = features.device();
    device.seed(11);
    let spread = Distribution::Normal(0.0, 1.0);
    let weight = Tensor::<2>::random(features.dims(), spread, &device);
    let values = features.clone().into_data().iter::<f32>().collect();
    let grads = (features * weight).sum().backward();
    let mut collect = Collect {
        grads: &grads,
        found: vec![values],
    };
    module.visit(&mut collect);
    collect.found
}

/// Asserts that the largest difference is at most 2e-4 of the largest value of each tensor, or of a
/// thousandth of the largest of all: some gradients are 0 but for rounding. Each operation alone is
/// compared with plain loops, more strictly, in `espalier_kernels::grad`; here the rounding of all
/// layers adds up.
fn close(what: &str, found: &[Vec<f32>], expected: &[Vec<f32>]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    assert!(found.len() > 3, "{what}: no gradients");
    let largest = |values: &[f32]| values.iter().fold(0.0_f32, |m, x| m.max(x.abs()));
    let floor = 1e-3 * expected[1..].iter().map(|v| largest(v)).fold(0.0, f32::max);
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(found.len(), expected.len(), "{what}, tensor {index}");
        let differences = found.iter().zip(expected).map(|(a, b)| (a - b).abs());
        let worst = differences.fold(0.0, f32::max);
        let scale = largest(expected).max(floor);
        assert!(
            worst <= 2e-4 * scale,
            "{what}, tensor {index}: {worst} of {scale}"
        );
    }
}

/// Both with and without gradient checkpointing.
fn devices() -> [Device; 2] {
    let device = Device::flex().autodiff();
    [device.clone(), device.gradient_checkpointing()]
}

fn compare_images(what: &str, config: &DualConfig, side: usize) {
    for device in devices() {
        let run = |own: bool| {
            ops::use_own(own);
            device.seed(7);
            let encoder = config.init_image(&device).map(&mut Disturb);
            let shape = [3, 3, side, side];
            let images = Tensor::<4>::random(shape, Distribution::Uniform(0.0, 1.0), &device);
            passes(&encoder, encoder.forward(images))
        };
        close(what, &run(true), &run(false));
    }
}

fn compare_texts(what: &str, config: &DualConfig) {
    let merges = include_str!("../../../trainer/checkpoints/vocab/clip_bpe_merges.txt");
    let tokenizer = Tokenizer::from_merges(merges, config.text.vocab_size).unwrap();
    let texts = ["", "a dog", "a king penguin beside two others"];
    let batch = tokenizer.encode_batch(&texts, config.text.context);
    for device in devices() {
        let run = |own: bool| {
            ops::use_own(own);
            device.seed(7);
            let encoder = config.init_text(&device).map(&mut Disturb);
            let tokens = Tokens::new(&batch, &device);
            passes(&encoder, encoder.forward(&tokens))
        };
        close(what, &run(true), &run(false));
    }
}

#[test]
fn transformers() {
    alone("own_operations::transformers", || {
        let mut config = Preset::VitT8_64.config();
        for pool in [Pool::Class, Pool::Mean, Pool::PatchMean] {
            config.vision = VitConfig::new(24, 8, 24, 2, 3)
                .with_pool(pool)
                .with_pre_norm(pool == Pool::Class)
                .with_activation(match pool {
                    Pool::Class => Activation::QuickGelu,
                    _ => Activation::Gelu,
                });
            compare_images(&format!("{pool:?}"), &config, 24);
        }
        config.text.d_model = 24;
        config.text.n_heads = 3;
        config.text.n_layers = 2;
        compare_texts("text", &config);
    });
}

#[test]
fn a_step_of_adamw() {
    alone("own_operations::a_step_of_adamw", || {
        let device = Device::flex();
        device.seed(7);
        let random = || Tensor::<2>::random([9, 5], Distribution::Uniform(0.1, 1.0), &device);
        let (tensors, grad) = ([random(), random(), random()], random());
        let step = ops::AdamWStep {
            rate: 0.1,
            betas: [0.9, 0.98],
            eps: 1e-8,
            decay: 0.2,
            step: 3,
        };
        let run = |own: bool| {
            ops::use_own(own);
            let updated = step.update(tensors.clone(), grad.clone());
            let values = Tensor::cat(updated.into(), 0).into_data();
            values.iter::<f32>().collect::<Vec<_>>()
        };
        for (found, expected) in run(true).iter().zip(run(false)) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
    });
}

#[test]
fn convolutions_with_standardised_kernels() {
    alone(
        "own_operations::convolutions_with_standardised_kernels",
        || {
            let mut config = Preset::VitT8_64.config();
            for side in [16, 20, 36] {
                let stages = vec![StageConfig::new(8, 1), StageConfig::new(12, 2)];
                config.vision = VitConfig::new(side, 4, 12, 0, 3)
                    .with_pool(Pool::Mean)
                    .with_stem(Some(stages));
                compare_images(&format!("{side} pixels"), &config, side);
            }
        },
    );
}

#[test]
fn inverted_residuals_with_every_kind_of_norm() {
    alone(
        "own_operations::inverted_residuals_with_every_kind_of_norm",
        || {
            let mut config = Preset::EfficientnetLite0.config();
            let stages = vec![
                InvertedStage::new(1, 3, 1, 8, 1),
                InvertedStage::new(2, 5, 2, 12, 2),
                InvertedStage::new(3, 3, 2, 16, 2),
            ];
            for norms in [Norms::Batch, Norms::Frozen, Norms::Folded] {
                let inverted = InvertedConfig::new(8, stages.clone()).with_norms(norms);
                config.vision.d_model = 24;
                config.vision.patch = inverted.stride();
                config.vision.inverted = Some(inverted);
                for side in [32, 37] {
                    compare_images(&format!("{norms:?}, {side} pixels"), &config, side);
                }
            }
        },
    );
}
