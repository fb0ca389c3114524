//! Converts images and features of a batch to tensors.

use burn::tensor::{Device, Tensor, TensorData};
use espalier_data::Pixels;
use espalier_data::batches::feature_rows::Features;

/// Returns images as a tensor `[n, 3, s, s]` with values in `[0, 1]`.
pub fn image_tensor(images: &Pixels, device: &Device) -> Tensor<4> {
    let shape = [images.count, 3, images.size, images.size];
    Tensor::from_data(TensorData::new(images.to_planes(), shape), device)
}

/// Returns features as a tensor `[count, width]`.
pub fn feature_tensor(features: &Features, device: &Device) -> Tensor<2> {
    matrix(features.values.clone(), features.width, device)
}

/// Returns rows of a width as a tensor `[rows, width]`.
pub fn matrix(values: Vec<f32>, width: usize, device: &Device) -> Tensor<2> {
    let rows = values.len() / width.max(1);
    Tensor::from_data(TensorData::new(values, [rows, width]), device)
}

/// Returns the rows of a matrix on the host.
///
/// # Errors
/// When the data cannot be read back from the device.
pub fn rows(t: Tensor<2>) -> anyhow::Result<Vec<Vec<f32>>> {
    let [_, width] = t.dims();
    Ok(values(t)?.chunks(width).map(<[f32]>::to_vec).collect())
}

/// Returns the values of a matrix on the host, row by row.
///
/// # Errors
/// As [`rows`].
pub fn values(t: Tensor<2>) -> anyhow::Result<Vec<f32>> {
    let data = t.into_data().convert::<f32>().try_into_vec::<f32>();
    data.map_err(|e| anyhow::anyhow!("reading embeddings: {e:?}"))
}
