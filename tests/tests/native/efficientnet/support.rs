//! The small encoder of the golden files.

use burn::tensor::{Device, Tensor, TensorData};
use espalier_core::model::{Classifier, DualConfig, ImageEncoder, Preset};
use espalier_core::nn::{InvertedConfig, InvertedStage, Norms};
use espalier_core::weights::{Tensors, collect, load};
use espalier_tests::json_of;
use espalier_trainer::import::convert::{self, Match};
use espalier_trainer::import::store::Store;
use espalier_trainer::layout::{Layout, classifier};
use serde_json::Value;

use crate::import::support::golden;

pub const CLASSES: usize = 10;

/// Reads the outputs of PyTorch for the small encoder.
pub fn expected() -> Value {
    json_of(&golden("efficientnet.json"))
}

/// Returns the architecture of the small encoder, the table of `gen_efficientnet.py`.
pub fn config(norms: Norms) -> DualConfig {
    let stage = |[expand, kernel, stride, width, blocks]: [usize; 5]| {
        InvertedStage::new(expand, kernel, stride, width, blocks)
    };
    let stages = [
        [1, 3, 1, 4, 1],
        [3, 3, 2, 8, 2],
        [3, 5, 2, 8, 1],
        [3, 3, 2, 12, 2],
        [3, 5, 1, 12, 1],
        [3, 5, 2, 16, 1],
        [3, 3, 1, 16, 1],
    ];
    let mut config = Preset::EfficientnetLite0.config();
    config.vision.image_size = 45;
    config.vision.d_model = 24;
    let inverted = InvertedConfig::new(8, stages.map(stage).to_vec()).with_norms(norms);
    config.vision.inverted = Some(inverted);
    config.text.vocab_size = 600;
    config.text.d_model = 8;
    config.text.n_layers = 1;
    config.text.n_heads = 4;
    config.d_embed = 8;
    config.validate().unwrap();
    config
}

/// Reads the tensors of the golden file under our names, with the classifier; asserts that all are
/// used.
pub fn tensors(config: &DualConfig) -> Tensors {
    let mut store = Store::open(&[golden("efficientnet.pth")]).unwrap();
    let layout = Layout::of(store.names()).unwrap();
    assert_eq!(layout, Layout::EfficientnetLite);
    let mut pieces = layout.mappings(config);
    pieces.extend(classifier(config, CLASSES));
    let matched = Match::of(&store, layout, config.lift, &pieces);
    assert!(matched.is_complete(), "{}", matched.describe_problems());
    let ignores = !matched.ignored.is_empty();
    assert!(ignores, "expected the counters to be ignored");
    convert::read_fitting(&mut store, &matched, &pieces).unwrap()
}

/// Returns the image encoder with the golden weights, and its classifier.
pub fn encoder(norms: Norms, device: &Device) -> (ImageEncoder, Classifier) {
    let config = config(norms);
    let mut read = tensors(&config).tensors;
    let weight = read.remove("classifier.weight").unwrap();
    let bias = read.remove("classifier.bias").unwrap();
    let labels = (0..CLASSES).map(|i| format!("n{i}")).collect();
    let classifier = Classifier::new(&weight, &bias, labels, &Device::flex()).unwrap();
    let built = config.init_image(device);
    let mut all = collect(&built).unwrap();
    all.tensors.extend(read);
    (load(built, all).unwrap(), classifier)
}

pub fn numbers(value: &Value) -> Vec<f32> {
    let all = value.as_array().unwrap().iter();
    all.map(|v| v.as_f64().unwrap() as f32).collect()
}

pub fn tensor<const D: usize>(value: &Value, shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::from_data(TensorData::new(numbers(value), shape), device)
}

pub fn floats<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().iter::<f32>().collect()
}

/// Asserts that the largest difference, relative to the largest expected number, is within a
/// tolerance.
#[track_caller]
pub fn close(what: &str, found: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(0.0_f32, |m, v| m.max(v.abs()));
    let off = found.iter().zip(expected);
    let off = off.fold(0.0_f32, |m, (a, b)| m.max((a - b).abs()));
    assert!(
        off <= tolerance * largest,
        "{what}: expected a difference of at most {tolerance} of {largest}, found {off}"
    );
}
