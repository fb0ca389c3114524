//! A batch on the device.

use burn::tensor::{Device, Int, Tensor, TensorData};
use espalier_core::model::Tokens;

use crate::data::{Batch, Pictures};

/// Tensors of one training step.
#[derive(Clone, Debug)]
pub struct StepInputs {
    /// Pictures in `[0, 1]`, `[b, 3, s, s]`.
    pub images: Tensor<4>,
    /// Box crops, `[b, 3, s, s]`.
    pub box_images: Option<Tensor<4>>,
    /// Captions.
    pub captions: Tokens,
    /// Phrases of the boxes.
    pub phrases: Option<Tokens>,
    /// Patches that the picture tower sees, `[k]`; all where not set.
    pub keep: Option<Tensor<1, Int>>,
    /// Share of the entailment's weight that counts at this step, in `[0, 1]`.
    pub entail_ramp: f64,
}

/// Pictures as a tensor in `[0, 1]`, `[n, 3, s, s]`.
#[must_use]
pub fn picture_tensor(pictures: &Pictures, device: &Device) -> Tensor<4> {
    let shape = [pictures.count, 3, pictures.size, pictures.size];
    Tensor::from_data(TensorData::new(pictures.to_planes(), shape), device)
}

impl StepInputs {
    /// Move a batch to the device; `keep` lists the patches to train on. The entailment counts in
    /// full; set [`entail_ramp`](Self::entail_ramp) for less.
    #[must_use]
    pub fn new(batch: &Batch, keep: Option<Vec<i32>>, device: &Device) -> Self {
        Self {
            images: picture_tensor(&batch.images, device),
            box_images: batch.box_images.as_ref().map(|p| picture_tensor(p, device)),
            captions: Tokens::new(&batch.captions, device),
            phrases: batch.phrases.as_ref().map(|p| Tokens::new(p, device)),
            keep: keep.map(|k| {
                let len = k.len();
                Tensor::from_data(TensorData::new(k, [len]), device)
            }),
            entail_ramp: 1.0,
        }
    }
}
