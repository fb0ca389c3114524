//! Named tensors as their file stores them: integers remain integers.
//!
//! A large encoder in int8 takes a quarter of the memory that it takes in `f32`, so the
//! [`kernels`](crate::kernels) read this form.

use std::collections::BTreeMap;

use safetensors::{Dtype, SafeTensors, tensor::TensorView};

use super::host::HostTensor;
use super::q8;
use crate::error::{CoreError, Result};

/// Elements of a stored tensor, row major.
#[derive(Clone, Debug, PartialEq)]
pub enum StoredValues {
    /// Floating-point numbers.
    F32(Vec<f32>),
    /// Integers, and one scale for each index of the first dimension; an element is their product.
    Int8 {
        /// The integers.
        values: Vec<i8>,
        /// The scales.
        scales: Vec<f32>,
    },
}

/// One tensor as its file stores it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredTensor {
    /// Sizes of its dimensions; empty for a scalar.
    pub shape: Vec<usize>,
    /// Its elements.
    pub values: StoredValues,
}

/// Named tensors as their file stores them, and the metadata of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredTensors {
    /// Tensors by name.
    pub tensors: BTreeMap<String, StoredTensor>,
    /// Metadata of the file.
    pub metadata: BTreeMap<String, String>,
}

pub(super) fn invalid(tensor: &str, reason: impl Into<String>) -> CoreError {
    CoreError::Tensor {
        tensor: tensor.into(),
        reason: reason.into(),
    }
}

/// Returns the elements of a tensor without scales.
fn floats(name: &str, view: &TensorView<'_>) -> Result<Vec<f32>> {
    let bytes = view.data();
    match view.dtype() {
        Dtype::F32 => Ok(bytes
            .as_chunks()
            .0
            .iter()
            .map(|b| f32::from_le_bytes(*b))
            .collect()),
        Dtype::F64 => Ok(bytes
            .as_chunks()
            .0
            .iter()
            .map(|b| f64::from_le_bytes(*b) as f32)
            .collect()),
        Dtype::I8 => Ok(bytes.iter().map(|b| f32::from(*b as i8)).collect()),
        other => {
            let reason = format!("expected F32, F64 or I8, found {other:?}");
            Err(invalid(name, reason))
        }
    }
}

/// Returns a tensor of integers with its scales.
fn integers(name: &str, view: &TensorView<'_>, scales: Vec<f32>) -> Result<StoredTensor> {
    if view.dtype() != Dtype::I8 {
        let found = view.dtype();
        return Err(invalid(
            name,
            format!("expected I8 for a tensor with scales, found {found:?}"),
        ));
    }
    let values: Vec<i8> = view.data().iter().map(|b| *b as i8).collect();
    let rows = q8::rows(view.shape());
    if scales.len() != rows {
        let found = scales.len();
        return Err(invalid(
            name,
            format!("expected {rows} scales, found {found}"),
        ));
    }
    Ok(StoredTensor {
        shape: view.shape().to_vec(),
        values: StoredValues::Int8 { values, scales },
    })
}

impl StoredTensor {
    /// Returns the tensor in `f32`.
    #[must_use]
    pub fn into_f32(self) -> HostTensor {
        let data = match self.values {
            StoredValues::F32(data) => data,
            StoredValues::Int8 { values, scales } => q8::dequantise(&values, &scales),
        };
        HostTensor {
            shape: self.shape,
            data,
        }
    }

    /// Returns a row of a matrix in `f32`.
    ///
    /// # Panics
    /// If there are fewer rows.
    pub(crate) fn row(&self, index: usize) -> Vec<f32> {
        let width = self.shape[1];
        let range = index * width..(index + 1) * width;
        match &self.values {
            StoredValues::F32(values) => values[range].to_vec(),
            StoredValues::Int8 { values, scales } => {
                let row = values[range].iter();
                row.map(|v| f32::from(*v) * scales[index]).collect()
            }
        }
    }
}

impl From<HostTensor> for StoredTensor {
    fn from(tensor: HostTensor) -> Self {
        Self {
            shape: tensor.shape,
            values: StoredValues::F32(tensor.data),
        }
    }
}

impl StoredTensors {
    /// Reads a safetensors file.
    ///
    /// # Errors
    /// [`CoreError::Tensor`] when the file is not safetensors, is truncated, or has a dtype or
    /// scale that cannot be used.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let unreadable = |e| invalid("*", format!("expected a complete safetensors file: {e}"));
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(unreadable)?;
        let file = SafeTensors::deserialize(bytes).map_err(unreadable)?;
        let mut scales = BTreeMap::new();
        for (name, view) in file.iter() {
            if let Some(base) = name.strip_suffix(q8::SCALE_SUFFIX) {
                scales.insert(base, floats(name, &view)?);
            }
        }
        let mut tensors = BTreeMap::new();
        for (name, view) in file.iter() {
            if name.ends_with(q8::SCALE_SUFFIX) {
                continue;
            }
            let tensor = match scales.remove(name) {
                Some(scales) => integers(name, &view, scales)?,
                None => StoredTensor {
                    shape: view.shape().to_vec(),
                    values: StoredValues::F32(floats(name, &view)?),
                },
            };
            tensors.insert(name.to_owned(), tensor);
        }
        if let Some(name) = scales.keys().next() {
            return Err(invalid(name, "expected a tensor for its scale, found none"));
        }
        let metadata = header.metadata().clone().unwrap_or_default();
        Ok(Self {
            tensors,
            metadata: metadata.into_iter().collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a file with an int8 tensor `[2, 2]` named `w` and this many scales.
    fn file(scales: usize) -> Vec<u8> {
        let values = [1_i8, -2, 3, 4].map(|v| v as u8);
        let scales: Vec<u8> = [0.5_f32; 3][..scales]
            .iter()
            .flat_map(|s| s.to_le_bytes())
            .collect();
        let views = [
            ("w", TensorView::new(Dtype::I8, vec![2, 2], &values)),
            (
                "w.q8_scale",
                TensorView::new(Dtype::F32, vec![scales.len() / 4], &scales),
            ),
        ];
        let views = views.map(|(name, view)| (name, view.unwrap()));
        safetensors::serialize(views, None).unwrap()
    }

    #[test]
    fn integers_stay_integers_until_they_are_asked_for() {
        let mut stored = StoredTensors::read(&file(2)).unwrap();
        let tensor = stored.tensors.remove("w").unwrap();
        let expected = StoredValues::Int8 {
            values: vec![1, -2, 3, 4],
            scales: vec![0.5; 2],
        };
        assert_eq!(tensor.values, expected);
        assert_eq!(tensor.into_f32().data, [0.5, -1.0, 1.5, 2.0]);
    }

    #[test]
    fn a_wrong_number_of_scales_is_an_error() {
        let message = StoredTensors::read(&file(3)).unwrap_err().to_string();
        assert_eq!(message, "tensor `w`: expected 2 scales, found 3");
    }
}
