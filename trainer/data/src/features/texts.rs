//! Features of texts on disk: runs with the same locked layers of a text encoder compute each text once.
//!
//! One safetensors file for each encoder: `tokens` of all texts and `lengths [n]` in U32, `features [n, width]` in
//! F16. Another run may replace the file meanwhile; what is lost is computed again.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use espalier_io::disk::write::write_atomic;
use half::f16;
use safetensors::{Dtype, SafeTensors, tensor::TensorView};

/// Features before the projection, by the tokens of their texts.
pub type StoredTexts = HashMap<Vec<u32>, Vec<f16>>;

/// Must change whenever the stored content or its computation changes.
const VERSION: &str = "1";

/// The file of an encoder.
#[derive(Debug)]
pub struct TextStore {
    path: PathBuf,
}

impl TextStore {
    /// Returns the file of an encoder, known by its `identity`, below a folder; it need not exist.
    pub fn new(folder: &Path, identity: &str) -> Self {
        let name = format!("{identity}-{VERSION}.safetensors");
        Self {
            path: folder.join("texts").join(name),
        }
    }

    /// Reads the file; empty if it is missing or cannot be used.
    pub fn read(&self) -> StoredTexts {
        let bytes = fs::read(&self.path).ok();
        bytes.and_then(|bytes| parse(&bytes)).unwrap_or_default()
    }

    /// Writes the file atomically.
    ///
    /// # Errors
    /// If the folder cannot be written to.
    pub fn write(&self, features: &StoredTexts) -> anyhow::Result<()> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)
                .with_context(|| format!("train.feature_cache: creating {}", folder.display()))?;
        }
        let ordered: BTreeMap<_, _> = features.iter().collect();
        let bytes_of = |values: &mut dyn Iterator<Item = u32>| -> Vec<u8> {
            values.flat_map(u32::to_le_bytes).collect()
        };
        let tokens = bytes_of(&mut ordered.keys().flat_map(|key| key.iter().copied()));
        let lengths = bytes_of(&mut ordered.keys().map(|key| key.len() as u32));
        let rows = ordered.values().flat_map(|row| row.iter());
        let rows: Vec<u8> = rows.flat_map(|value| value.to_le_bytes()).collect();
        let width = ordered.values().next().map_or(0, |row| row.len());
        let tensors = [
            TensorView::new(Dtype::U32, vec![tokens.len() / 4], &tokens)?,
            TensorView::new(Dtype::U32, vec![ordered.len()], &lengths)?,
            TensorView::new(Dtype::F16, vec![ordered.len(), width], &rows)?,
        ];
        let tensors = ["tokens", "lengths", "features"].into_iter().zip(tensors);
        write_atomic(&self.path, &safetensors::serialize(tensors, None)?)
    }
}

fn parse(bytes: &[u8]) -> Option<StoredTexts> {
    let file = SafeTensors::deserialize(bytes).ok()?;
    let integers = |name: &str| -> Option<Vec<u32>> {
        let tensor = file.tensor(name).ok()?;
        let numbers = tensor.data().as_chunks().0.iter();
        let numbers = numbers.map(|bytes| u32::from_le_bytes(*bytes)).collect();
        (tensor.dtype() == Dtype::U32).then_some(numbers)
    };
    let (tokens, lengths) = (integers("tokens")?, integers("lengths")?);
    let features = file.tensor("features").ok()?;
    let &[rows, width] = features.shape() else {
        return None;
    };
    let total: usize = lengths.iter().map(|length| *length as usize).sum();
    if features.dtype() != Dtype::F16 || rows != lengths.len() || total != tokens.len() {
        return None;
    }
    let values = features.data().as_chunks().0.iter();
    let values: Vec<f16> = values.map(|bytes| f16::from_le_bytes(*bytes)).collect();
    let mut tokens = tokens.as_slice();
    let keys = lengths.into_iter().map(|length| {
        let key = tokens.split_off(..length as usize);
        key.unwrap_or_default().to_vec()
    });
    let rows = values.chunks(width.max(1)).map(<[f16]>::to_vec);
    Some(keys.zip(rows).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_read_back_and_a_broken_file_counts_as_none() {
        let folder = tempfile::tempdir().unwrap();
        let store = TextStore {
            path: folder.path().join("texts/a.safetensors"),
        };
        assert!(store.read().is_empty());
        let row = |values: [f32; 2]| values.map(f16::from_f32).to_vec();
        let features = HashMap::from([
            (vec![1, 2, 3], row([0.5, -1.0])),
            (vec![7], row([2.0, 0.25])),
        ]);
        store.write(&features).unwrap();
        assert_eq!(store.read(), features);
        let bytes = fs::read(&store.path).unwrap();
        fs::write(&store.path, &bytes[..bytes.len() - 1]).unwrap();
        assert!(store.read().is_empty());
    }
}
