//! A set of named tensors in memory.

use std::collections::{BTreeMap, HashMap};

use safetensors::{Dtype, tensor::TensorView};

use super::host::HostTensor;
use super::q8;
use super::stored::{StoredTensors, invalid};
use crate::error::Result;

/// Named tensors and the metadata of their file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tensors {
    /// Tensors by name.
    pub tensors: BTreeMap<String, HostTensor>,
    /// Metadata of the file.
    pub metadata: BTreeMap<String, String>,
}

impl From<StoredTensors> for Tensors {
    fn from(stored: StoredTensors) -> Self {
        let tensors = stored.tensors.into_iter();
        Self {
            tensors: tensors.map(|(name, t)| (name, t.into_f32())).collect(),
            metadata: stored.metadata,
        }
    }
}

impl From<Tensors> for StoredTensors {
    fn from(tensors: Tensors) -> Self {
        let stored = tensors.tensors.into_iter();
        Self {
            tensors: stored.map(|(name, t)| (name, t.into())).collect(),
            metadata: tensors.metadata,
        }
    }
}

impl Tensors {
    /// Reads a safetensors file; int8 tensors are multiplied by their scales.
    ///
    /// # Errors
    /// [`CoreError::Tensor`](crate::CoreError::Tensor) when the file is not safetensors, is truncated, or has a dtype or
    /// scale that cannot be used.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        StoredTensors::read(bytes).map(Self::from)
    }

    /// Writes a safetensors file. A tensor for which `rounded` returns a largest value is stored as
    /// int8 up to that value, with scales.
    ///
    /// # Errors
    /// [`CoreError::Tensor`](crate::CoreError::Tensor) when the shape of a tensor contradicts its data.
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
        let mut bytes =
            safetensors::serialize(views, metadata).map_err(|e| invalid("*", e.to_string()))?;
        let length = bytes
            .first_chunk()
            .map_or(0, |n| u64::from_le_bytes(*n) as usize);
        if let Some(header) = bytes.get_mut(8..8 + length) {
            sort_header(header);
        }
        Ok(bytes)
    }
}

/// Sorts the entries of a safetensors header in place, so that the same tensors and metadata are the
/// same bytes in every run: the library writes metadata in random order.
pub fn sort_header(header: &mut [u8]) {
    let Ok(entries) = serde_json::from_slice::<serde_json::Value>(header) else {
        return;
    };
    let sorted = entries.to_string();
    // The same entries, and blanks up to the length.
    if sorted.len() <= header.len() {
        header.fill(b' ');
        header[..sorted.len()].copy_from_slice(sorted.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_tensors_and_metadata_are_the_same_bytes() {
        let entries = (0..20).map(|i| (format!("key {i}"), format!("{{\"a\": {i}}}")));
        let tensors = Tensors {
            tensors: BTreeMap::new(),
            metadata: entries.collect(),
        };
        let bytes = tensors.write(|_, _| None).unwrap();
        for _ in 0..5 {
            assert_eq!(tensors.write(|_, _| None).unwrap(), bytes);
        }
        assert_eq!(Tensors::read(&bytes).unwrap(), tensors);
    }

    #[test]
    fn an_empty_tensor_is_read_as_it_was_written() {
        let mut tensors = Tensors::default();
        for (name, shape) in [("no rows", vec![0, 4]), ("no columns", vec![3, 0])] {
            let data = Vec::new();
            let tensor = HostTensor { shape, data };
            tensors.tensors.insert(name.into(), tensor);
        }
        let bytes = tensors.write(|_, _| Some(q8::Q6)).unwrap();
        assert_eq!(Tensors::read(&bytes).unwrap(), tensors);
    }
}
