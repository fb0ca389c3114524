//! A safetensors file, read from disk tensor by tensor.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use safetensors::tensor::Metadata;

use super::dtype::Number;
use crate::exit::usage;

/// Largest header that is read, in bytes; the format's own limit.
const MAX_HEADER: u64 = 100_000_000;

/// An open safetensors file.
pub struct SafetensorsFile {
    path: PathBuf,
    file: File,
    header: Metadata,
    /// Where the data begins.
    start: u64,
    /// Metadata of the file.
    pub metadata: BTreeMap<String, String>,
}

/// The header's bytes with the eight that hold its length.
fn header_bytes(file: &mut File, length: u64) -> Result<Vec<u8>, String> {
    let mut start = [0; 8];
    if length < start.len() as u64 {
        return Err(format!("it has {length} bytes; fetch it again"));
    }
    file.read_exact(&mut start)
        .map_err(|e| format!("the length of its header: {e}"))?;
    let size = u64::from_le_bytes(start);
    if size > MAX_HEADER || size + 8 > length {
        return Err(format!(
            "its header claims {size} bytes and the file has {length}"
        ));
    }
    let mut bytes = start.to_vec();
    bytes.resize(8 + size as usize, 0);
    file.read_exact(&mut bytes[8..])
        .map_err(|e| format!("its header: {e}"))?;
    Ok(bytes)
}

/// Where the last tensor ends, counted from the end of the header. The tensors must lie side by
/// side and be as long as their shapes say.
fn covered(header: &Metadata) -> Result<u64, String> {
    let tensors = header.tensors();
    let mut tensors: Vec<_> = tensors.iter().collect();
    tensors.sort_by_key(|(_, info)| info.data_offsets);
    let mut end = 0;
    for (name, info) in tensors {
        let (from, to) = info.data_offsets;
        let bits = info
            .shape
            .iter()
            .try_fold(info.dtype.bitsize(), |n, side| n.checked_mul(*side));
        let fits = to.checked_sub(from).and_then(|n| n.checked_mul(8)) == bits;
        if from != end || !fits {
            return Err(format!(
                "tensor `{name}` of shape {:?} cannot lie at bytes {from} to {to}",
                info.shape
            ));
        }
        end = to;
    }
    Ok(end as u64)
}

impl SafetensorsFile {
    /// Open a file and check its header against its length.
    ///
    /// # Errors
    /// Bad usage: not readable, not safetensors, or cut short.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let fail = |e: String| {
            usage(format!(
                "{}: wanted a safetensors file or a PyTorch archive (zip): {e}",
                path.display()
            ))
        };
        let mut file = File::open(path).map_err(|e| fail(e.to_string()))?;
        let length = file.metadata().map_err(|e| fail(e.to_string()))?.len();
        let bytes = header_bytes(&mut file, length).map_err(fail)?;
        let start = bytes.len() as u64;
        let header: Metadata =
            serde_json::from_slice(&bytes[8..]).map_err(|e| fail(format!("its header: {e}")))?;
        let end = covered(&header).map_err(fail)?;
        if start.checked_add(end) != Some(length) {
            return Err(fail(format!(
                "its tensors take {end} bytes behind its header of {start}, the file has {length}; \
                 fetch it again"
            )));
        }
        let metadata = header.metadata().clone().unwrap_or_default();
        Ok(Self {
            path: path.to_owned(),
            file,
            start,
            metadata: metadata.into_iter().collect(),
            header,
        })
    }

    /// Names and shapes.
    #[must_use]
    pub fn shapes(&self) -> Vec<(String, Vec<usize>)> {
        let tensors = self.header.tensors();
        let shapes = tensors.into_iter().map(|(name, t)| (name, t.shape.clone()));
        shapes.collect()
    }

    /// Numbers of a tensor.
    ///
    /// # Errors
    /// Bad usage: no such tensor, no floats, or the file is cut short.
    pub fn read(&mut self, name: &str) -> anyhow::Result<Vec<f32>> {
        let path = self.path.display();
        let fail = |e: String| usage(format!("{path}: tensor `{name}`: {e}"));
        let info = self.header.info(name);
        let info = info.ok_or_else(|| fail("is not there".into()))?;
        let number = Number::of(info.dtype)
            .ok_or_else(|| fail(format!("wanted floats, found {:?}", info.dtype)))?;
        let (from, to) = info.data_offsets;
        let mut bytes = vec![0; to - from];
        self.file
            .seek(SeekFrom::Start(self.start + from as u64))
            .and_then(|_| self.file.read_exact(&mut bytes))
            .map_err(|e| fail(e.to_string()))?;
        number.decode(&bytes).map_err(fail)
    }
}
