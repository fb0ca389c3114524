//! A batch on the device.

use burn::tensor::{Bool, Device, Int, Tensor, TensorData};
use espalier_core::input::TokenBatch;
use espalier_core::loss::Relations;
use espalier_core::model::Tokens;

use crate::data::{Batch, Pictures, Scenes};

/// Tensors of one training step.
#[derive(Clone, Debug)]
pub struct StepInputs {
    /// Pictures in `[0, 1]`, `[b, 3, s, s]`; `b` is 0 where the dataset has none.
    pub images: Tensor<4>,
    /// Box crops, `[b, 3, s, s]`.
    pub box_images: Option<Tensor<4>>,
    /// Captions.
    pub captions: Tokens,
    /// Phrases of the boxes.
    pub phrases: Option<Tokens>,
    /// Texts from general to specific.
    pub chains: Option<ChainInputs>,
    /// Boxes of scenes and what they are parts of.
    pub scenes: Option<SceneInputs>,
    /// Patches that the picture tower sees, `[k]`; all where not set.
    pub keep: Option<Tensor<1, Int>>,
}

/// Chains of texts on the device.
#[derive(Clone, Debug)]
pub struct ChainInputs {
    /// Texts of a chain.
    pub tiers: usize,
    /// Positives, `b * tiers` texts, as many negatives, and the text of the root.
    pub texts: Tokens,
    /// Whether the batch has pictures of the last texts.
    pub has_images: bool,
}

/// Boxes and their relations on the device.
#[derive(Clone, Debug)]
pub struct SceneInputs {
    /// Crops of all boxes, `[m, 3, s, s]`.
    pub boxes: Tensor<4>,
    /// Rows of wholes against boxes, `[b + m, m]`.
    pub relations: Relations,
}

/// Pictures as a tensor in `[0, 1]`, `[n, 3, s, s]`.
#[must_use]
pub fn picture_tensor(pictures: &Pictures, device: &Device) -> Tensor<4> {
    let shape = [pictures.count, 3, pictures.size, pictures.size];
    Tensor::from_data(TensorData::new(pictures.to_planes(), shape), device)
}

/// A matrix that is true at the given places.
fn mask(
    places: &[(usize, usize)],
    rows: usize,
    columns: usize,
    device: &Device,
) -> Tensor<2, Bool> {
    let mut cells = vec![false; rows * columns];
    for (row, column) in places {
        cells[row * columns + column] = true;
    }
    Tensor::from_data(TensorData::new(cells, [rows, columns]), device)
}

fn scene_inputs(scenes: &Scenes, batch: usize, device: &Device) -> SceneInputs {
    let boxes = scenes.boxes.count;
    let mask = |places| mask(places, batch + boxes, boxes, device);
    SceneInputs {
        boxes: picture_tensor(&scenes.boxes, device),
        relations: Relations {
            pairs: mask(&scenes.pairs),
            entails: mask(&scenes.entails),
        },
    }
}

impl StepInputs {
    /// Move a batch to the device; `keep` lists the patches to train on, `root` is the text of the
    /// root of chains.
    #[must_use]
    pub fn new(batch: &Batch, keep: Option<Vec<i32>>, root: &TokenBatch, device: &Device) -> Self {
        Self {
            images: picture_tensor(&batch.images, device),
            box_images: batch.box_images.as_ref().map(|p| picture_tensor(p, device)),
            captions: Tokens::new(&batch.captions, device),
            phrases: batch.phrases.as_ref().map(|p| Tokens::new(p, device)),
            chains: batch.chains.as_ref().map(|chains| ChainInputs {
                tiers: chains.tiers,
                texts: Tokens::new(&chains.texts.followed_by(root), device),
                has_images: batch.images.count > 0,
            }),
            scenes: batch
                .scenes
                .as_ref()
                .map(|scenes| scene_inputs(scenes, batch.images.count, device)),
            keep: keep.map(|k| {
                let len = k.len();
                Tensor::from_data(TensorData::new(k, [len]), device)
            }),
        }
    }
}
