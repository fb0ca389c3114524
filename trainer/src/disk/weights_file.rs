//! Writes large safetensors files tensor by tensor, so that a model is never in memory twice.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use anyhow::Context;
use espalier_core::weights::HostTensor;
use safetensors::tensor::View;
use safetensors::{Dtype, serialize_to_file};

/// A tensor to write.
#[derive(Clone, Debug)]
pub enum Stored {
    /// 32-bit floats.
    Floats(HostTensor),
    /// A shape and its booleans, one per byte.
    Flags(Vec<usize>, Vec<u8>),
}

impl View for &Stored {
    fn dtype(&self) -> Dtype {
        match self {
            Stored::Floats(_) => Dtype::F32,
            Stored::Flags(..) => Dtype::BOOL,
        }
    }

    fn shape(&self) -> &[usize] {
        match self {
            Stored::Floats(tensor) => &tensor.shape,
            Stored::Flags(shape, _) => shape,
        }
    }

    fn data(&self) -> Cow<'_, [u8]> {
        match self {
            Stored::Floats(tensor) => {
                let bytes = tensor.data.iter().flat_map(|v| v.to_le_bytes());
                Cow::Owned(bytes.collect())
            }
            Stored::Flags(_, bytes) => Cow::Borrowed(bytes),
        }
    }

    fn data_len(&self) -> usize {
        match self {
            Stored::Floats(tensor) => 4 * tensor.data.len(),
            Stored::Flags(_, bytes) => bytes.len(),
        }
    }
}

/// Writes a file atomically and creates its folder if needed.
///
/// # Errors
/// If it cannot be written.
pub fn write(
    path: &Path,
    tensors: &BTreeMap<String, Stored>,
    metadata: BTreeMap<String, String>,
) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    }
    let tmp = path.with_extension("tmp");
    let metadata: HashMap<String, String> = metadata.into_iter().collect();
    let metadata = (!metadata.is_empty()).then_some(metadata);
    serialize_to_file(tensors.iter(), metadata, &tmp)
        .map_err(anyhow::Error::from)
        .and_then(|()| Ok(fs::File::open(&tmp)?.sync_all()?))
        .and_then(|()| Ok(fs::rename(&tmp, path)?))
        .with_context(|| format!("writing {}", path.display()))
}
