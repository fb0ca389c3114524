//! A batch on the device.

use burn::tensor::module::avg_pool2d;
use burn::tensor::ops::AvgPoolOptions;
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
    /// Texts of all labels, and which of them the pictures show.
    pub labels: Option<LabelInputs>,
    /// General texts, then as many that are more specific.
    pub order: Option<Tokens>,
    /// Patches that the picture tower sees, `[k]`; all where not set.
    pub keep: Option<Tensor<1, Int>>,
}

/// What a step sees of the pictures of its batch; by default everything.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Patches to train on; all where not set.
    pub patches: Option<Vec<i32>>,
    /// Whether pictures are brought to half their side.
    pub halved: bool,
}

/// Labels on the device.
#[derive(Clone, Debug)]
pub struct LabelInputs {
    /// One text of each of `l` labels.
    pub texts: Tokens,
    /// What the pictures of the samples should say, `[b, l]`.
    pub targets: Tensor<2>,
    /// Pictures of nothing and what each of them should say, `[1, l]`.
    pub nothing: Option<(Tensor<4>, Tensor<2>)>,
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
    /// Move a batch to the device; `root` is the text of the root of chains.
    #[must_use]
    pub fn new(batch: &Batch, seen: Seen, root: &TokenBatch, device: &Device) -> Self {
        let pictures = |p: &Pictures| {
            let pictures = picture_tensor(p, device);
            if seen.halved && p.count > 0 {
                return avg_pool2d(pictures, AvgPoolOptions::new([2, 2]));
            }
            pictures
        };
        Self {
            images: pictures(&batch.images),
            box_images: batch.box_images.as_ref().map(pictures),
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
            labels: batch.labels.as_ref().map(|labels| {
                let texts = Tokens::new(&labels.texts, device);
                let shape = [batch.images.count, texts.rows()];
                let targets = TensorData::new(labels.targets.clone(), shape);
                LabelInputs {
                    texts,
                    targets: Tensor::from_data(targets, device),
                    nothing: labels.nothing.as_ref().map(|nothing| {
                        let target = TensorData::new(nothing.target.clone(), [1, shape[1]]);
                        let target = Tensor::from_data(target, device);
                        (pictures(&nothing.pictures), target)
                    }),
                }
            }),
            order: batch.order.as_ref().map(|texts| Tokens::new(texts, device)),
            keep: seen.patches.map(|k| {
                let len = k.len();
                Tensor::from_data(TensorData::new(k, [len]), device)
            }),
        }
    }
}
