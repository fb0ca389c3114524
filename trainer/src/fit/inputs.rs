//! A batch on the device.

use burn::tensor::module::avg_pool2d;
use burn::tensor::ops::AvgPoolOptions;
use burn::tensor::{Bool, Device, Int, Tensor, TensorData};
use espalier_core::input::TokenBatch;
use espalier_core::loss::{Groups, Relations};
use espalier_core::model::Tokens;
use espalier_data::batches::anchors::Anchors;
use espalier_data::batches::distill::DistillBatch;
use espalier_data::batches::text_batch::NounBatch;
use espalier_data::{Batch, BatchContent, Chains, ImageBatch, Pixels, Scenes};
use espalier_eval::tensors::{feature_tensor, image_tensor, matrix};

use super::rows::Rows;

/// Input of the image encoder.
#[derive(Clone, Debug)]
pub enum ImageTensor {
    /// Images in `[0, 1]`, `[n, 3, s, s]`, or this rank's share of them.
    Pixels(Rows<4>),
    /// Pooled features precomputed by a locked encoder, `[n, d_model]`.
    Features(Tensor<2>),
}

impl ImageTensor {
    /// Returns the number of images of the batch.
    pub fn rows(&self) -> usize {
        match self {
            Self::Pixels(images) => images.total,
            Self::Features(features) => features.dims()[0],
        }
    }
}

/// Contents of a step beside images and captions: [`BatchContent`] on the device.
#[derive(Clone, Debug)]
pub enum StepContent {
    /// Images and captions alone.
    Pairs,
    /// One crop of each image and its phrase.
    Boxed {
        /// The crops, or their features, as many as images.
        images: ImageTensor,
        /// The phrases.
        phrases: Tokens,
    },
    /// Texts from general to specific.
    Chains(ChainInputs),
    /// Boxes and the wholes that they are parts of.
    Scenes(SceneInputs),
}

/// Tensors of one training step.
#[derive(Clone, Debug)]
pub struct StepInputs {
    /// Images or their features, `b` of them; `b` is 0 where the dataset has none.
    pub images: ImageTensor,
    /// Which samples show the same image.
    pub same_images: Groups,
    /// Captions.
    pub captions: Tokens,
    /// Contents beside images and captions.
    pub content: StepContent,
    /// Texts of all labels, and which labels the images show.
    pub labels: Option<LabelInputs>,
    /// General texts, then as many that are more specific.
    pub order: Option<Tokens>,
    /// Nouns and the nodes that they belong to.
    pub nouns: Option<NounInputs>,
    /// Target directions for the texts of nodes, `[nodes, d_embed]`.
    pub anchors: Option<Tensor<2>>,
    /// Patches that the image encoder processes, `[k]`; all patches if `None`.
    pub keep: Option<Tensor<1, Int>>,
}

/// How a step reads the images of its batch; by default in full.
#[derive(Clone, Debug, Default)]
pub struct ImageView {
    /// Patches to train on; all patches if `None`.
    pub patches: Option<Vec<i32>>,
    /// Whether images are resized to half their side.
    pub halved: bool,
}

/// Labels on the device.
#[derive(Clone, Debug)]
pub struct LabelInputs {
    /// One text of each of `l` labels.
    pub texts: Tokens,
    /// Rows of the nodes that these texts name, `[l]`.
    pub nodes: Tensor<1, Int>,
    /// Target probabilities of the labels for the images, `[b, l]`.
    pub targets: Tensor<2>,
    /// Outlier images and the target of each of them, `[1, l]`.
    pub outliers: Option<(ImageTensor, Tensor<2>)>,
    /// Soft targets of a classifier.
    pub distill: Option<DistillInputs>,
}

/// Soft targets of a classifier on the device.
#[derive(Clone, Debug)]
pub struct DistillInputs {
    /// The classifier knows the first `k` of the labels.
    pub labels: usize,
    /// Probabilities of these labels for images, then crops, `[n b, k]`.
    pub targets: Tensor<2>,
    /// Features sampled from the classifier, `[m, d_model]`, and their probabilities, `[m, k]`.
    pub drawn: Option<(Tensor<2>, Tensor<2>)>,
}

fn distill_inputs(batch: &DistillBatch, device: &Device) -> DistillInputs {
    let targets = |values: &[f32]| matrix(values.to_vec(), batch.labels, device);
    DistillInputs {
        labels: batch.labels,
        targets: targets(&batch.targets),
        drawn: (batch.drawn.as_ref())
            .map(|(features, values)| (feature_tensor(features, device), targets(values))),
    }
}

/// Returns numbers of rows on the device, `[n]`.
fn row_numbers(rows: Vec<i32>, device: &Device) -> Tensor<1, Int> {
    let count = rows.len();
    Tensor::from_data(TensorData::new(rows, [count]), device)
}

/// Nouns and the nodes that they belong to, on the device.
#[derive(Clone, Debug)]
pub struct NounInputs {
    /// `n` nouns.
    pub nouns: Tokens,
    /// Names of `m` nodes.
    pub nodes: Tokens,
    /// Target share of each node for a noun: `[n, m]`, or where the run has anchors
    /// `[n + m, anchors]`, with the targets' own names after the nouns.
    pub targets: Tensor<2>,
    /// Rows of nouns and, at the same positions, of nodes above them, `[k]` each; `k` may be 0.
    pub below: [Tensor<1, Int>; 2],
    /// Generality of the nouns, then of the nodes, `[n + m, 1]`.
    pub generality: Tensor<2>,
}

/// Returns the target shares of all nodes for nouns, then for the names of nodes, whose share is
/// all on their own node.
fn targets_over_all_anchors(batch: &NounBatch, nodes: usize) -> Vec<f32> {
    let columns = batch.nodes.rows;
    let mut targets = vec![0.0; (batch.nouns.rows + columns) * nodes];
    let (nouns, names) = targets.split_at_mut(batch.nouns.rows * nodes);
    for (row, shares) in nouns.chunks_mut(nodes).zip(batch.targets.chunks(columns)) {
        for (node, share) in batch.columns.iter().zip(shares) {
            row[*node] += share;
        }
    }
    for (row, node) in names.chunks_mut(nodes).zip(&batch.columns) {
        row[*node] = 1.0;
    }
    targets
}

fn noun_inputs(batch: &NounBatch, anchors: Option<&Anchors>, device: &Device) -> NounInputs {
    let (targets, width) = match anchors.map(Anchors::rows) {
        Some(all) => (targets_over_all_anchors(batch, all), all),
        None => (batch.targets.clone(), batch.nodes.rows),
    };
    let column = |side: fn(&(usize, usize)) -> usize| {
        let rows = batch.below.iter().map(|pair| side(pair) as i32);
        row_numbers(rows.collect(), device)
    };
    NounInputs {
        nouns: Tokens::new(&batch.nouns, device),
        nodes: Tokens::new(&batch.nodes, device),
        targets: matrix(targets, width, device),
        below: [column(|pair| pair.0), column(|pair| pair.1)],
        generality: matrix(batch.generality.clone(), 1, device),
    }
}

/// Chains of texts on the device.
#[derive(Clone, Debug)]
pub struct ChainInputs {
    /// Number of texts of a chain.
    pub tiers: usize,
    /// The texts, each once: general ones occur in many chains.
    pub texts: Tokens,
    /// Rows of [`texts`](Self::texts) of `b * tiers` positive texts, as many negatives, and the text of the root,
    /// `[2 b tiers + 1]`.
    pub rows: Tensor<1, Int>,
    /// Whether the batch has images for the last text of each chain.
    pub has_images: bool,
}

fn chain_inputs(
    chains: &Chains,
    root: &TokenBatch,
    has_images: bool,
    device: &Device,
) -> ChainInputs {
    let (texts, rows) = chains.texts.followed_by(root).distinct();
    let rows = rows.into_iter().map(|row| row as i32);
    ChainInputs {
        tiers: chains.tiers,
        texts: Tokens::new(&texts, device),
        rows: row_numbers(rows.collect(), device),
        has_images,
    }
}

/// Boxes and their relations on the device.
#[derive(Clone, Debug)]
pub struct SceneInputs {
    /// Crops of all boxes, `[m, 3, s, s]`.
    pub boxes: Tensor<4>,
    /// Relations of wholes (rows) to boxes (columns), `[b + m, m]`.
    pub relations: Relations,
}

/// Returns a matrix that is true at the given positions.
fn mask(cells: &[(usize, usize)], rows: usize, columns: usize, device: &Device) -> Tensor<2, Bool> {
    let mut values = vec![false; rows * columns];
    for (row, column) in cells {
        values[row * columns + column] = true;
    }
    Tensor::from_data(TensorData::new(values, [rows, columns]), device)
}

fn scene_inputs(scenes: &Scenes, batch: usize, device: &Device) -> SceneInputs {
    let boxes = scenes.boxes.count;
    let mask = |cells| mask(cells, batch + boxes, boxes, device);
    SceneInputs {
        boxes: image_tensor(&scenes.boxes, device),
        relations: Relations {
            pairs: mask(&scenes.pairs),
            entails: mask(&scenes.entails),
        },
    }
}

impl StepInputs {
    /// Moves a batch to the device; `root` is the text of the root of chains.
    pub fn new(batch: &Batch, view: ImageView, root: &TokenBatch, device: &Device) -> Self {
        let tensor = |pixels: &Pixels| {
            let tensor = image_tensor(pixels, device);
            if view.halved && pixels.count > 0 {
                return avg_pool2d(tensor, AvgPoolOptions::new([2, 2]));
            }
            tensor
        };
        let images = |images: &ImageBatch, first: usize, total: usize| match images {
            ImageBatch::Pixels(batch) => ImageTensor::Pixels(Rows {
                held: tensor(batch),
                first,
                total,
            }),
            ImageBatch::Features(batch) => ImageTensor::Features(feature_tensor(batch, device)),
        };
        let count = batch.image_rows.total;
        let of_samples = |batch_images| images(batch_images, batch.image_rows.first, count);
        Self {
            images: of_samples(&batch.images),
            same_images: (batch.same_images())
                .map_or_else(Groups::default, |groups| Groups::new(&groups)),
            captions: Tokens::new(&batch.captions, device),
            content: match &batch.content {
                BatchContent::Pairs => StepContent::Pairs,
                BatchContent::Boxed { images, phrases } => StepContent::Boxed {
                    images: of_samples(images),
                    phrases: Tokens::new(phrases, device),
                },
                BatchContent::Chains(chains) => {
                    StepContent::Chains(chain_inputs(chains, root, count > 0, device))
                }
                BatchContent::Scenes(scenes) => {
                    StepContent::Scenes(scene_inputs(scenes, count, device))
                }
            },
            labels: batch.labels.as_ref().map(|labels| {
                let texts = Tokens::new(&labels.texts, device);
                let nodes = labels.nodes.iter().map(|ix| ix.index() as i32);
                LabelInputs {
                    nodes: row_numbers(nodes.collect(), device),
                    targets: matrix(labels.targets.clone(), texts.rows(), device),
                    outliers: labels.outliers.as_ref().map(|outliers| {
                        let target = matrix(outliers.target.clone(), texts.rows(), device);
                        let count = outliers.images.count();
                        (images(&outliers.images, 0, count), target)
                    }),
                    texts,
                    distill: labels.distill.as_ref().map(|d| distill_inputs(d, device)),
                }
            }),
            order: batch.order.as_ref().map(|texts| Tokens::new(texts, device)),
            nouns: (batch.nouns.as_ref())
                .map(|nouns| noun_inputs(nouns, batch.anchors.as_deref(), device)),
            anchors: (batch.anchors.as_ref())
                .map(|anchors| matrix(anchors.values.clone(), anchors.width, device)),
            keep: view.patches.map(|patches| row_numbers(patches, device)),
        }
    }
}
