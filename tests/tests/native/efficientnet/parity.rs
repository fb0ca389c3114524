//! The logits equal those of PyTorch, at any image size, with separate and with folded norms.

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use espalier_core::input::to_planes;
use espalier_core::kernels::ImageKernels;
use espalier_core::model::{DualConfig, ImageEncoder, Preset};
use espalier_core::nn::Norms;
use espalier_core::weights::{collect, load};
use image::{Rgb, RgbImage};

use crate::efficientnet::support::{
    CLASSES, close, config, encoder, expected, floats, numbers, tensor,
};

/// Returns the size, the images in `[0, 1]` and the logits of every case.
fn cases(device: &Device) -> Vec<(usize, Tensor<4>, Vec<f32>)> {
    let document = expected();
    let case = |case: &serde_json::Value| {
        let size = case["size"].as_u64().unwrap() as usize;
        let pixels: Tensor<4> = tensor(&case["pixels"], [2, 3, size, size], device);
        (size, pixels / 255.0, numbers(&case["logits"]))
    };
    let all = document["cases"].as_array().unwrap();
    all.iter().map(case).collect()
}

#[test]
fn logits_are_those_of_pytorch_at_even_and_odd_sizes() {
    let device = Device::flex();
    for norms in [Norms::Batch, Norms::Frozen] {
        let (encoder, classifier) = encoder(norms, &device);
        for (size, images, known) in cases(&device) {
            assert_eq!(known.len(), 2 * CLASSES);
            let found = floats(classifier.forward(encoder.pooled(images)));
            close(&format!("{norms:?}, {size} pixels"), &found, &known, 1e-5);
        }
    }
}

#[test]
fn folded_norms_give_the_same_and_fit_the_folded_configuration() {
    let device = Device::flex();
    let (encoder, classifier) = encoder(Norms::Batch, &device);
    let folded = ImageEncoder {
        visual: encoder.visual.clone().folded(),
        ..encoder.clone()
    };
    // Through named tensors, as in a bundle.
    let stored = collect(&folded).unwrap();
    let mut config = config(Norms::Batch);
    config.vision = config.vision.folded();
    let read = load(config.init_image(&device), stored.clone()).unwrap();
    assert!(stored.tensors.contains_key("visual._conv_stem.bias"));
    assert!(!stored.tensors.keys().any(|name| name.contains("_bn")));
    for (size, images, known) in cases(&device) {
        let found = floats(classifier.forward(read.pooled(images)));
        close(&format!("folded, {size} pixels"), &found, &known, 1e-5);
    }
}

/// Compares the features of the kernels with those of the network on a photo of noise.
fn compare_kernels(
    name: &str,
    config: &DualConfig,
    encoder: &ImageEncoder,
    (width, height): (u32, u32),
) {
    let kernels = ImageKernels::of(config, encoder).unwrap();
    let photo = RgbImage::from_fn(width, height, |x, y| {
        Rgb([0, 1, 2].map(|c| ((x * 31 + y * 17 + c * 101 + x * y) % 256) as u8))
    });
    let planes = to_planes(std::slice::from_ref(&photo));
    let shape = [1, 3, height as usize, width as usize];
    let images = Tensor::from_data(TensorData::new(planes, shape), &Device::flex());
    let expected = floats(encoder.pooled(images));
    let what = format!("{name}, {width} x {height}");
    let pooled = kernels.pooled_all(std::slice::from_ref(&photo)).concat();
    close(&what, &pooled, &expected, 1e-5);
}

#[test]
fn the_kernels_give_the_features_of_the_network() {
    let device = Device::flex();
    for norms in [Norms::Batch, Norms::Frozen] {
        let (encoder, _) = encoder(norms, &device);
        for (width, height) in [(45, 45), (33, 52), (7, 1), (1, 1), (64, 31)] {
            compare_kernels("golden", &config(norms), &encoder, (width, height));
        }
    }
    for preset in [
        Preset::EfficientnetLite0,
        Preset::EfficientnetLite1,
        Preset::EfficientnetLite2,
    ] {
        let config = preset.config();
        let encoder = config.init_image(&device);
        compare_kernels(&format!("{preset:?}"), &config, &encoder, (96, 70));
    }
}

#[test]
fn the_parts_of_a_forward_pass_are_its_whole() {
    let device = Device::flex();
    let (encoder, _) = encoder(Norms::Frozen, &device);
    let (_, images, _) = cases(&device).swap_remove(1);
    let whole = floats(encoder.forward(images.clone()));
    let parts = floats(encoder.project(encoder.pooled(images.clone())));
    assert_eq!(whole, parts);
    // A photo alone has the feature that it has in a batch.
    let alone = floats(encoder.forward(images.narrow(0, 1, 1)));
    close("alone", &alone, &whole[whole.len() / 2..], 1e-5);
}

#[test]
fn parameters_are_counted_without_running_statistics() {
    let device = Device::flex();
    for norms in [Norms::Batch, Norms::Folded] {
        let config = config(norms);
        let image = learned(&config.init_image(&device));
        let all = image + config.init_text(&device).num_params();
        assert_eq!(config.parameters(), all as u64, "{norms:?}");
    }
    let lite0 = Preset::EfficientnetLite0.config();
    assert_eq!(learned(&lite0.vision.init(&device)), 3_371_008);
}

/// Returns the number of parameters, without statistics of norms and of pixels.
fn learned(module: &impl Module) -> usize {
    let mut statistics = collect(module).unwrap().tensors;
    statistics.retain(|name, _| name.contains("running_") || name.starts_with("pixel_"));
    let numbers = statistics.values().map(|tensor| tensor.data.len());
    module.num_params() - numbers.sum::<usize>()
}
