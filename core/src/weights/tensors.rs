//! A set of named tensors in memory.

use std::collections::{BTreeMap, HashMap};

use safetensors::{Dtype, SafeTensors, tensor::TensorView};

use super::q8;
use crate::error::{CoreError, Result};

/// One tensor on the host in `f32`, row major.
#[derive(Clone, Debug, PartialEq)]
pub struct HostTensor {
    /// Sizes of its dimensions; empty for a scalar.
    pub shape: Vec<usize>,
    /// Its elements.
    pub data: Vec<f32>,
}

/// Named tensors and the metadata of their file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tensors {
    /// Tensors by name.
    pub tensors: BTreeMap<String, HostTensor>,
    /// Metadata of the file.
    pub metadata: BTreeMap<String, String>,
}

fn invalid(tensor: &str, reason: impl Into<String>) -> CoreError {
    CoreError::Tensor {
        tensor: tensor.into(),
        reason: reason.into(),
    }
}

fn decode(name: &str, view: &TensorView<'_>) -> Result<HostTensor> {
    let bytes = view.data();
    let data = match view.dtype() {
        Dtype::F32 => bytes
            .chunks_exact(4)
            .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect(),
        Dtype::F64 => bytes
            .chunks_exact(8)
            .map(|b| f64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]) as f32)
            .collect(),
        Dtype::I8 => bytes.iter().map(|b| f32::from(*b as i8)).collect(),
        other => {
            return Err(invalid(
                name,
                format!("expected F32, F64 or I8, found {other:?}"),
            ));
        }
    };
    Ok(HostTensor {
        shape: view.shape().to_vec(),
        data,
    })
}

impl Tensors {
    /// Reads a safetensors file; int8 tensors are multiplied by their scales.
    ///
    /// # Errors
    /// [`CoreError::Tensor`] when the file is not safetensors, is truncated, or has a dtype or
    /// scale that cannot be used.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let unreadable = |e| invalid("*", format!("expected a complete safetensors file: {e}"));
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(unreadable)?;
        let file = SafeTensors::deserialize(bytes).map_err(unreadable)?;
        let mut tensors = BTreeMap::new();
        let mut scales = BTreeMap::new();
        for (name, view) in file.iter() {
            let tensor = decode(name, &view)?;
            match name.strip_suffix(q8::SCALE_SUFFIX) {
                Some(base) => scales.insert(base.to_owned(), tensor),
                None => tensors.insert(name.to_owned(), tensor),
            };
        }
        for (name, scale) in scales {
            let tensor = tensors
                .get_mut(&name)
                .ok_or_else(|| invalid(&name, "expected a tensor for its scale, found none"))?;
            q8::dequantise(tensor, &scale).map_err(|reason| invalid(&name, reason))?;
        }
        let metadata = header
            .metadata()
            .clone()
            .unwrap_or_default()
            .into_iter()
            .collect();
        Ok(Self { tensors, metadata })
    }

    /// Writes a safetensors file. A tensor for which `rounded` returns a largest value is stored as
    /// int8 up to that value, with scales.
    ///
    /// # Errors
    /// [`CoreError::Tensor`] when the shape of a tensor contradicts its data.
    pub fn write(&self, rounded: impl Fn(&str, &HostTensor) -> Option<i8>) -> Result<Vec<u8>> {
        let mut stored: Vec<(String, Dtype, Vec<usize>, Vec<u8>)> = Vec::new();
        let le = |data: &[f32]| {
            data.iter()
                .flat_map(|v| v.to_le_bytes())
                .collect::<Vec<u8>>()
        };
        for (name, tensor) in &self.tensors {
            if let Some(most) = rounded(name, tensor) {
                let (values, scales) = q8::quantise(tensor, most);
                let bytes = values.iter().map(|v| *v as u8).collect();
                stored.push((name.clone(), Dtype::I8, tensor.shape.clone(), bytes));
                let name = format!("{name}{}", q8::SCALE_SUFFIX);
                stored.push((name, Dtype::F32, vec![scales.len()], le(&scales)));
            } else {
                stored.push((
                    name.clone(),
                    Dtype::F32,
                    tensor.shape.clone(),
                    le(&tensor.data),
                ));
            }
        }
        let mut views = Vec::with_capacity(stored.len());
        for (name, dtype, shape, bytes) in &stored {
            let view = TensorView::new(*dtype, shape.clone(), bytes)
                .map_err(|e| invalid(name, e.to_string()))?;
            views.push((name.as_str(), view));
        }
        let metadata: HashMap<String, String> = self.metadata.clone().into_iter().collect();
        let metadata = (!metadata.is_empty()).then_some(metadata);
        safetensors::serialize(views, metadata).map_err(|e| invalid("*", e.to_string()))
    }
}
