//! One file of precomputed features: one view of some consecutive records.
//!
//! The file is safetensors with the tensor `features [rows, width]` in F16. Its metadata has the
//! entry `records`, JSON: for each record, the subjects of its rows. The file name is a hash of
//! everything that the features depend on. Files are therefore never modified, and several runs can
//! share them. Files are written atomically.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use espalier_io::disk::write::write_atomic;
use half::f16;
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::records::fault::Cause;

/// Names of the tensor and of the metadata entry.
const FEATURES: &str = "features";
const RECORDS: &str = "records";

/// Must change whenever the stored content or its computation changes.
const VERSION: &str = "1";

/// Returns the path of a file: a hash of everything that its features depend on.
pub(super) fn path<'a>(folder: &Path, parts: impl IntoIterator<Item = &'a [u8]>) -> PathBuf {
    let mut hash = Sha256::new();
    for part in std::iter::once(VERSION.as_bytes()).chain(parts) {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let name: String = hash.finalize().iter().map(|b| format!("{b:02x}")).collect();
    folder.join(&name[..2]).join(format!("{name}.safetensors"))
}

/// Contents of a file for one record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Entry {
    /// One row for each of these: 0 for the photo, or indices of the record's boxes.
    Rows(Vec<u32>),
    /// No row: the record cannot be used.
    Broken(Cause, String),
}

/// The content of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FeatureFile {
    pub(super) entries: Vec<Entry>,
    /// `[rows, width]`, record by record.
    pub(super) values: Vec<f16>,
}

impl FeatureFile {
    fn rows(entries: &[Entry]) -> usize {
        let count = |entry: &Entry| match entry {
            Entry::Rows(items) => items.len(),
            Entry::Broken(..) => 0,
        };
        entries.iter().map(count).sum()
    }

    /// Reads a file; `None` if it is missing, or does not match and has to be recomputed.
    pub(super) fn read(path: &Path, records: usize, width: usize) -> Option<Self> {
        let bytes = fs::read(path).ok()?;
        let (_, header) = SafeTensors::read_metadata(&bytes).ok()?;
        let entries = header.metadata().as_ref()?.get(RECORDS)?;
        let entries: Vec<Entry> = serde_json::from_str(entries).ok()?;
        let file = SafeTensors::deserialize(&bytes).ok()?;
        let tensor = file.tensor(FEATURES).ok()?;
        let shape = [Self::rows(&entries), width];
        if tensor.dtype() != Dtype::F16 || tensor.shape() != shape || entries.len() != records {
            return None;
        }
        let pairs = tensor.data().chunks_exact(2);
        let values = pairs.map(|b| f16::from_le_bytes([b[0], b[1]])).collect();
        Some(Self { entries, values })
    }

    /// Writes a file atomically.
    pub(super) fn write(&self, path: &Path, width: usize) -> anyhow::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)
                .with_context(|| format!("train.feature_cache: creating {}", folder.display()))?;
        }
        let bytes: Vec<u8> = self.values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let shape = vec![Self::rows(&self.entries), width];
        let tensor = TensorView::new(Dtype::F16, shape, &bytes)?;
        let records = serde_json::to_string(&self.entries)?;
        let metadata = HashMap::from([(RECORDS.to_owned(), records)]);
        let bytes = safetensors::serialize([(FEATURES, tensor)], Some(metadata))?;
        // Two runs may write the same file at once; each writes to its own temporary name first.
        let mut temporary = path.as_os_str().to_owned();
        temporary.push(format!(".{}", std::process::id()));
        let temporary = PathBuf::from(temporary);
        write_atomic(&temporary, &bytes)?;
        fs::rename(&temporary, path).with_context(|| format!("renaming to {}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_back_and_a_mismatched_file_is_ignored() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("below/a.safetensors");
        let stored = FeatureFile {
            entries: vec![
                Entry::Rows(vec![0, 2]),
                Entry::Broken(Cause::UnreadableImage, "no image".into()),
                Entry::Rows(Vec::new()),
            ],
            values: [0.5, -1.0, 6.0, 0.0].map(f16::from_f32).to_vec(),
        };
        assert_eq!(FeatureFile::read(&path, 3, 2), None);
        stored.write(&path, 2).unwrap();
        assert_eq!(FeatureFile::read(&path, 3, 2), Some(stored));
        assert_eq!(FeatureFile::read(&path, 4, 2), None);
        assert_eq!(FeatureFile::read(&path, 3, 4), None);
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert_eq!(FeatureFile::read(&path, 3, 2), None);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }
}
