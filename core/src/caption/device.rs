//! Encoders on a device of Burn.

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use image::RgbImage;

use crate::error::{CoreError, Result};
use crate::input::{TokenBatch, to_planes};
use crate::model::{FeatureMap, ImageEncoder, TextEncoder, Tokens};
use crate::weights::{Loading, StoredTensors, Tensors};

/// An encoder on a device, whose weights arrive in parts.
#[derive(Debug)]
pub(super) struct DeviceLoader<M> {
    encoder: M,
    loading: Loading,
    device: Device,
}

/// An encoder on a device.
#[derive(Debug)]
pub(super) struct OnDevice<M> {
    encoder: M,
    device: Device,
}

impl<M: Module> DeviceLoader<M> {
    pub(super) fn new(encoder: M, device: &Device) -> Self {
        Self {
            encoder,
            loading: Loading::default(),
            device: device.clone(),
        }
    }

    /// Moves tensors to the device.
    pub(super) fn with(mut self, stored: StoredTensors) -> Result<Self> {
        let tensors = Tensors::from(stored);
        self.encoder = self.loading.take(self.encoder, tensors)?;
        Ok(self)
    }

    /// Completes the encoder.
    pub(super) fn finish(self) -> Result<OnDevice<M>> {
        self.loading.finish()?;
        Ok(OnDevice {
            encoder: self.encoder,
            device: self.device,
        })
    }
}

impl OnDevice<ImageEncoder> {
    /// Computes projected features of preprocessed images.
    pub(super) async fn features(&self, images: &[RgbImage]) -> Result<Vec<Vec<f32>>> {
        rows(self.encoder.forward(self.planes(images))).await
    }

    /// Computes the projected features of an image's places, see [`ImageEncoder::feature_map`].
    pub(super) async fn feature_map(&self, image: &RgbImage) -> Result<Option<FeatureMap>> {
        let images = self.planes(std::slice::from_ref(image));
        let Some(map) = self.encoder.feature_map(images) else {
            return Ok(None);
        };
        let [_, height, width, d] = map.dims();
        Ok(Some(FeatureMap {
            rows: height,
            columns: width,
            features: rows(map.reshape([height * width, d])).await?,
        }))
    }

    /// Moves images to the device; `[batch, 3, height, width]`.
    fn planes(&self, images: &[RgbImage]) -> Tensor<4> {
        let (width, height) = images.first().map_or((0, 0), RgbImage::dimensions);
        let shape = [images.len(), 3, height as usize, width as usize];
        let planes = TensorData::new(to_planes(images), shape);
        Tensor::from_data(planes, &self.device)
    }
}

impl OnDevice<TextEncoder> {
    /// Computes projected features of texts.
    pub(super) async fn features(&self, batch: &TokenBatch) -> Result<Vec<Vec<f32>>> {
        rows(self.encoder.forward(&Tokens::new(batch, &self.device))).await
    }
}

/// Copies features to the host, one vector per row. Awaits the device, since a browser must not
/// block.
async fn rows(features: Tensor<2>) -> Result<Vec<Vec<f32>>> {
    let [_, width] = features.dims();
    let data = features.into_data_async().await.map_err(|e| {
        CoreError::Device(format!(
            "the features cannot be read from the device: {e:?}"
        ))
    })?;
    let values: Vec<f32> = data
        .convert::<f32>()
        .try_into_vec()
        .map_err(|e| CoreError::Device(format!("the features have another type: {e:?}")))?;
    Ok(values.chunks(width).map(<[f32]>::to_vec).collect())
}
