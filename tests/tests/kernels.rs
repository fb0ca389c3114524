//! The kernels compute what the networks do, for every architecture.

#![allow(clippy::unwrap_used)]

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{Device, Distribution, Tensor, TensorData};
use espalier_core::input::{Tokenizer, to_planes};
use espalier_core::kernels::{ImageKernels, TextKernels};
use espalier_core::model::{DualConfig, Pool, Positions, Preset, Tokens, VitConfig};
use espalier_core::nn::{Activation, StageConfig};
use image::{Rgb, RgbImage};

/// Adds noise to every parameter: as initialised, some biases and gains are 0.
struct Disturb;

impl ModuleMapper for Disturb {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|t| {
            let noise = Tensor::random(t.dims(), Distribution::Normal(0.0, 0.02), &t.device());
            t + noise
        })
    }
}

fn floats(tensor: Tensor<2>) -> Vec<f32> {
    tensor.into_data().iter::<f32>().collect()
}

/// Asserts that the largest difference is at most 1e-5 of the largest value.
fn close(what: &str, found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(0.0_f32, |m, x| m.max(x.abs()));
    let difference = found.iter().zip(expected).map(|(a, b)| (a - b).abs());
    let worst = difference.fold(0.0, f32::max);
    assert!(worst <= 1e-5 * largest, "{what}: {worst} of {largest}");
}

fn photo(side: u32, seed: u32) -> RgbImage {
    let pixel = |x: u32, y: u32, c: u32| ((x * 31 + y * 17 + c * 101 + x * y + seed) % 256) as u8;
    RgbImage::from_fn(side, side, |x, y| {
        Rgb([pixel(x, y, 0), pixel(x, y, 1), pixel(x, y, 2)])
    })
}

fn compare(what: &str, config: &DualConfig) {
    compare_images(what, config);
    compare_texts(what, config);
}

fn compare_images(what: &str, config: &DualConfig) {
    let device = Device::flex();
    device.seed(5);
    let side = config.vision.image_size;
    let encoder = config.init_image(&device).map(&mut Disturb);
    let kernels = ImageKernels::new(&encoder).unwrap();
    for seed in [0, 77] {
        let photo = photo(side as u32, seed);
        let planes = TensorData::new(to_planes(std::slice::from_ref(&photo)), [1, 3, side, side]);
        let images = Tensor::from_data(planes, &device);
        let expected = floats(encoder.pooled(images.clone()));
        close(what, &kernels.pooled(&photo), &expected);
        close(
            what,
            &kernels.forward(&photo),
            &floats(encoder.forward(images)),
        );
    }
}

fn compare_texts(what: &str, config: &DualConfig) {
    let device = Device::flex();
    device.seed(5);
    let encoder = config.init_text(&device).map(&mut Disturb);
    let kernels = TextKernels::new(&encoder).unwrap();
    let merges = include_str!("../../static/vocab/clip_bpe_merges.txt");
    let tokenizer = Tokenizer::from_merges(merges, config.text.vocab_size).unwrap();
    let texts = [
        "",
        "a dog",
        "a king penguin in the middle of a photo, beside two others",
    ];
    let batch = tokenizer.encode_batch(&texts, config.text.context);
    let expected = floats(encoder.forward(&Tokens::new(&batch, &device)));
    close(what, &kernels.forward(&batch), &expected);
}

#[test]
fn presets_of_every_kind() {
    for preset in [Preset::VitT8_64, Preset::EfficientnetLite0] {
        compare(&format!("{preset:?}"), &preset.config());
    }
}

#[test]
fn transformers_with_every_pool_position_and_activation() {
    for pool in [Pool::Class, Pool::Mean, Pool::PatchMean] {
        for positions in [Positions::Sincos, Positions::Learned] {
            for activation in [Activation::Gelu, Activation::QuickGelu] {
                for pre_norm in [false, true] {
                    let mut config = Preset::VitT8_64.config();
                    config.vision = VitConfig::new(24, 8, 24, 2, 3)
                        .with_pool(pool)
                        .with_positions(positions)
                        .with_activation(activation)
                        .with_pre_norm(pre_norm)
                        .with_patch_bias(!pre_norm);
                    compare_images(&format!("{:?}", config.vision), &config);
                }
            }
        }
    }
}

#[test]
fn convolutions_alone_and_before_a_transformer() {
    for layers in [0, 2] {
        for side in [32, 20] {
            let stages = vec![StageConfig::new(8, 1), StageConfig::new(12, 2)];
            let mut config = Preset::VitT8_64.config();
            config.vision = VitConfig::new(side, 4, 12, layers, 3)
                .with_pool(Pool::Mean)
                .with_positions(Positions::Learned)
                .with_stem(Some(stages));
            compare_images(&format!("{layers} layers, {side} pixels"), &config);
        }
    }
}

#[test]
fn text_encoders_of_every_depth_and_activation() {
    for layers in [0, 1, 3] {
        for activation in [Activation::Gelu, Activation::QuickGelu] {
            let mut config = Preset::VitT8_64.config();
            config.text.d_model = 24;
            config.text.n_heads = 3;
            config.text.n_layers = layers;
            config.text.activation = activation;
            compare_texts(&format!("{layers} layers, {activation:?}"), &config);
        }
    }
}
