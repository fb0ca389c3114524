//! Images and features of a batch as tensors.

use burn::tensor::{Device, Tensor, TensorData};

use crate::data::Pictures;
use crate::data::batches::feature_rows::Features;

/// Pictures as a tensor in `[0, 1]`, `[n, 3, s, s]`.
#[must_use]
pub fn picture_tensor(pictures: &Pictures, device: &Device) -> Tensor<4> {
    let shape = [pictures.count, 3, pictures.size, pictures.size];
    Tensor::from_data(TensorData::new(pictures.to_planes(), shape), device)
}

/// Features as a tensor, `[count, width]`.
#[must_use]
pub fn feature_tensor(features: &Features, device: &Device) -> Tensor<2> {
    let shape = [features.count, features.width];
    Tensor::from_data(TensorData::new(features.values.clone(), shape), device)
}
