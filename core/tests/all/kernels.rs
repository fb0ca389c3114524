//! The kernels compute what the networks do, for every architecture.

use burn::module::Module;
use burn::tensor::{Device, Distribution, Tensor, TensorData};
use espalier_core::geometry::DistanceReduction;
use espalier_core::input::{Tokenizer, to_planes};
use espalier_core::kernels::{ImageKernels, TextKernels};
use espalier_core::model::{
    Arithmetic, DualConfig, LiftKind, Modality, PointLift, Pool, Positions, Preset, Tokens,
    VitConfig,
};
use espalier_core::nn::{Activation, StageConfig};
use espalier_core::weights::q8::{Q8, is_worth_quantising};
use espalier_core::weights::{HostTensor, StoredTensors, Tensors, collect};
use image::{Rgb, RgbImage};

use super::disturb::Disturb;

fn floats(tensor: Tensor<2>) -> Vec<f32> {
    tensor.into_data().iter::<f32>().collect()
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
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
    let kernels = ImageKernels::of(config, &encoder).unwrap();
    let photos: Vec<RgbImage> = (0..7).map(|seed| photo(side as u32, 11 * seed)).collect();
    let alone: Vec<Vec<f32>> = photos.iter().map(|photo| kernels.forward(photo)).collect();
    assert_eq!(kernels.forward_all(&photos), alone, "{what}: in one batch");
    let vision = config.vision.clone().with_arithmetic(Arithmetic::Int8);
    let integers = ImageKernels::of(&config.clone().with_vision(vision), &encoder).unwrap();
    let rounded: Vec<Vec<f32>> = photos.iter().map(|photo| integers.forward(photo)).collect();
    assert_eq!(
        integers.forward_all(&photos),
        rounded,
        "{what}: integers in one batch"
    );
    for (found, expected) in rounded.iter().zip(&alone) {
        let cosine = cosine(found, expected);
        assert!(cosine > 0.99, "{what}: integers have a cosine of {cosine}");
    }
    for seed in [0, 77] {
        let photo = photo(side as u32, seed);
        let planes = TensorData::new(to_planes(std::slice::from_ref(&photo)), [1, 3, side, side]);
        let images = Tensor::from_data(planes, &device);
        let expected = floats(encoder.pooled(images.clone()));
        let pooled = kernels.pooled_all(std::slice::from_ref(&photo)).concat();
        close(what, &pooled, &expected);
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
    let kernels = TextKernels::of(config, &encoder).unwrap();
    let merges = include_str!("../../../trainer/checkpoints/vocab/clip_bpe_merges.txt");
    let tokenizer = Tokenizer::from_merges(merges, config.text.vocab_size).unwrap();
    let texts = [
        "",
        "a dog",
        "a king penguin in the middle of a photo, beside two others",
    ];
    let batch = tokenizer.encode_batch(&texts, config.text.context);
    let expected = floats(encoder.forward(&Tokens::new(&batch, &device)));
    close(what, &kernels.forward(&batch).concat(), &expected);
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

/// Returns the tensors of a file in which matrices are stored as integers.
fn quantised(tensors: &Tensors) -> StoredTensors {
    let rounded = |name: &str, tensor: &HostTensor| is_worth_quantising(name, tensor).then_some(Q8);
    StoredTensors::read(&tensors.write(rounded).unwrap()).unwrap()
}

#[test]
fn integers_in_memory_give_the_features_of_their_floats() {
    let device = Device::flex();
    device.seed(5);
    let mut config = Preset::VitT8_64.config();
    // The feed-forward layers have more weights than the kernels unpack at once.
    config.vision = VitConfig::new(24, 8, 384, 1, 6);
    let encoder = config.init_image(&device).map(&mut Disturb);
    let stored = quantised(&collect(&encoder).unwrap());
    let unpacked = Tensors::from(stored.clone());
    let [kept, unpacked] = [stored, unpacked.into()]
        .map(|stored: StoredTensors| ImageKernels::new(&config, stored).unwrap());
    let photo = photo(24, 3);
    assert_eq!(kept.forward(&photo), unpacked.forward(&photo));
}

#[test]
fn missing_unknown_and_misshapen_tensors_are_named() {
    let config = Preset::VitT8_64.config();
    let device = Device::flex();
    let tensors = collect(&config.init_image(&device)).unwrap();
    let message = |change: fn(&mut Tensors)| {
        let mut tensors = tensors.clone();
        change(&mut tensors);
        let built = ImageKernels::new(&config, tensors.into());
        built.unwrap_err().to_string()
    };
    let missing = message(|t| drop(t.tensors.remove("visual.blocks.2.mlp.fc1.weight")));
    assert!(
        missing.contains("visual.blocks.2.mlp.fc1.weight"),
        "{missing}"
    );
    let unknown = message(|t| {
        let tensor = t.tensors["pixel_mean"].clone();
        t.tensors.insert("visual.extra".into(), tensor);
    });
    assert!(unknown.contains("visual.extra"), "{unknown}");
    let misshapen = message(|t| {
        let tensor = t.tensors["pixel_mean"].clone();
        t.tensors.insert("visual.norm.weight".into(), tensor);
    });
    assert!(
        misshapen.contains("visual.norm.weight") && misshapen.contains("192"),
        "{misshapen}"
    );
}

#[test]
fn points_are_those_of_the_lift_of_a_model() {
    let device = Device::flex();
    device.seed(3);
    for (kind, equal_image_radii) in [
        (LiftKind::Sphere, false),
        (LiftKind::Lorentz, false),
        (LiftKind::Lorentz, true),
        (
            LiftKind::Product {
                factors: 2,
                join: DistanceReduction::L1,
            },
            false,
        ),
    ] {
        let mut config = Preset::VitT8_64.config().with_lift(kind);
        config.d_embed = 16;
        config.equal_image_radii = equal_image_radii;
        let lift = config.init_lift(&device).map(&mut Disturb);
        for scale in [1e-9, 1.0, 1e4] {
            let spread = Distribution::Normal(0.0, scale);
            let features = Tensor::<2>::random([3, 16], spread, &device);
            let rows = floats(features.clone());
            for (modality, points) in [
                (Modality::Image, lift.image(features.clone())),
                (Modality::Text, lift.text(features.clone())),
            ] {
                let mut stored = StoredTensors::from(collect(&lift).unwrap());
                let lift = PointLift::take(&config, modality, &mut stored).unwrap();
                assert!(stored.tensors.is_empty());
                let found: Vec<f32> = rows.chunks(16).flat_map(|row| lift.apply(row)).collect();
                close(
                    &format!("{kind:?}, {modality:?}, {scale}"),
                    &found,
                    &floats(points),
                );
            }
        }
    }
}
