//! A linear classifier over pooled features, with the labels of its classes.
//!
//! An image encoder that was trained as a classifier has such a layer. The model does not need it
//! to embed photos. It serves as a teacher (its probabilities are soft targets) and as a reference
//! in evaluation.

use burn::module::{Module, Param};
use burn::nn::Linear;
use burn::tensor::{Device, Tensor, TensorData};

use crate::error::{CoreError, Result};
use crate::math::normalize;
use crate::weights::HostTensor;

/// Linear layer from pooled features to one logit per class.
#[derive(Module, Debug)]
pub struct Classifier {
    /// From `d_feature` to the number of classes, with bias.
    pub linear: Linear,
    /// Synset ids in class order: the label of logit `i` is `labels[i]`.
    #[module(skip)]
    pub labels: Vec<String>,
}

fn check_shape(tensor: &str, expected: &[usize], found: &HostTensor) -> Result<()> {
    let numbers: usize = expected.iter().product();
    if found.shape == expected && found.data.len() == numbers {
        return Ok(());
    }
    Err(CoreError::TensorShape {
        tensor: tensor.into(),
        expected: expected.to_vec(),
        found: found.shape.clone(),
    })
}

impl Classifier {
    /// Builds a classifier on a device from published tensors: `weight [classes, d_feature]`,
    /// `bias [classes]`.
    ///
    /// # Errors
    /// [`CoreError::TensorShape`] if `weight` is not a matrix or `bias` is not a vector with one
    /// entry per row; [`CoreError::Tensor`] if there is not exactly one label per class, or a label
    /// is repeated, empty or has several lines.
    pub fn new(
        weight: &HostTensor,
        bias: &HostTensor,
        labels: Vec<String>,
        device: &Device,
    ) -> Result<Self> {
        let [classes, d_feature] = Self::check(weight, bias, &labels)?;
        let rows = TensorData::new(weight.data.clone(), [classes, d_feature]);
        let rows = Tensor::<2>::from_data(rows, device);
        let bias = TensorData::new(bias.data.clone(), [classes]);
        Ok(Self {
            linear: Linear {
                weight: Param::from_tensor(rows.transpose()),
                bias: Some(Param::from_tensor(Tensor::from_data(bias, device))),
            },
            labels,
        })
    }

    /// Returns the directions of the classes in the embedding space: their rows without the mean of all
    /// rows, projected as features are, of length 1.
    ///
    /// # Shapes
    /// `projection` from `d_feature` to `d_embed` `-> [classes, d_embed]`
    #[must_use]
    pub fn directions(&self, projection: &Linear) -> Tensor<2> {
        let rows = self.linear.weight.val().transpose();
        let rows = rows.clone() - rows.mean_dim(0);
        normalize(rows.matmul(projection.weight.val()))
    }

    /// Checks that tensors and labels belong together. Returns the number of classes and the width
    /// of the features.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn check(weight: &HostTensor, bias: &HostTensor, labels: &[String]) -> Result<[usize; 2]> {
        let [classes, d_feature] = *weight.shape.as_slice() else {
            return Err(CoreError::TensorShape {
                tensor: "weight".into(),
                expected: vec![labels.len(), 0],
                found: weight.shape.clone(),
            });
        };
        check_shape("weight", &[classes, d_feature], weight)?;
        check_shape("bias", &[classes], bias)?;
        check_labels(labels, classes)?;
        Ok([classes, d_feature])
    }

    /// Returns the number of classes.
    #[must_use]
    pub fn classes(&self) -> usize {
        self.labels.len()
    }

    /// Returns the width of the input features.
    #[must_use]
    pub fn d_feature(&self) -> usize {
        self.linear.weight.dims()[0]
    }

    /// Computes logits from pooled features (see
    /// [`ImageEncoder::pooled`](super::ImageEncoder::pooled)).
    ///
    /// # Shapes
    /// `[n, d_feature] -> [n, classes]`
    pub fn forward(&self, features: Tensor<2>) -> Tensor<2> {
        self.linear.forward(features)
    }
}

fn check_labels(labels: &[String], classes: usize) -> Result<()> {
    let invalid = |reason: String| CoreError::Tensor {
        tensor: "weight".into(),
        reason,
    };
    if labels.len() != classes {
        return Err(invalid(format!(
            "expected one row for each of the {} labels, found {classes} rows",
            labels.len()
        )));
    }
    let mut seen = std::collections::BTreeSet::new();
    let broken = |label: &&String| label.trim().is_empty() || label.contains('\n');
    if let Some(label) = labels.iter().find(broken) {
        return Err(invalid(format!(
            "expected labels that are not empty and have one line, found {label:?}"
        )));
    }
    match labels.iter().find(|label| !seen.insert(label.as_str())) {
        Some(label) => Err(invalid(format!("the label `{label}` is used for two rows"))),
        None => Ok(()),
    }
}
