//! Converts images and features of a batch to tensors.

use burn::tensor::{Device, Tensor, TensorData};
use espalier_data::Pixels;
use espalier_data::batches::feature_rows::Features;

/// Returns images as a tensor `[n, 3, s, s]` with values in `[0, 1]`.
#[must_use]
pub fn image_tensor(images: &Pixels, device: &Device) -> Tensor<4> {
    let shape = [images.count, 3, images.size, images.size];
    Tensor::from_data(TensorData::new(images.to_planes(), shape), device)
}

/// Returns features as a tensor `[count, width]`.
#[must_use]
pub fn feature_tensor(features: &Features, device: &Device) -> Tensor<2> {
    let shape = [features.count, features.width];
    Tensor::from_data(TensorData::new(features.values.clone(), shape), device)
}
