//! Reads a safetensors file from disk, tensor by tensor.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use safetensors::tensor::Metadata;

use super::dtype::Number;
use crate::disk::read;
use crate::exit::usage;

/// Largest accepted header in bytes; the limit of the format.
const MAX_HEADER: u64 = 100_000_000;

/// An open safetensors file.
pub struct SafetensorsFile {
    path: PathBuf,
    file: File,
    header: Metadata,
    /// Offset of the data in bytes.
    start: u64,
    /// Metadata of the file.
    pub metadata: BTreeMap<String, String>,
}

/// Reads the header, including the eight bytes that hold its length.
fn header_bytes(file: &mut File, length: u64) -> Result<Vec<u8>, String> {
    let mut start = [0; 8];
    if length < start.len() as u64 {
        return Err(format!(
            "expected a header of at least 8 bytes, found a file of {length} bytes; download it again"
        ));
    }
    file.read_exact(&mut start)
        .map_err(|e| format!("reading the length of its header: {e}"))?;
    let size = u64::from_le_bytes(start);
    if size > MAX_HEADER || size + 8 > length {
        return Err(format!(
            "expected a header of {size} bytes, found a file of {length} bytes; download it again"
        ));
    }
    let mut bytes = start.to_vec();
    bytes.resize(8 + size as usize, 0);
    file.read_exact(&mut bytes[8..])
        .map_err(|e| format!("reading its header: {e}"))?;
    Ok(bytes)
}

/// Returns the end of the last tensor, in bytes from the end of the header. Checks that the tensors
/// leave no gaps and that their lengths match their shapes.
fn end_of_tensors(header: &Metadata) -> Result<u64, String> {
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
                "tensor `{name}` of shape {:?} does not fit its position, bytes {from} to {to}",
                info.shape
            ));
        }
        end = to;
    }
    Ok(end as u64)
}

impl SafetensorsFile {
    /// Opens a file and checks its header against the length of the file.
    ///
    /// # Errors
    /// Bad usage: not readable, not safetensors, or truncated.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let fail = |e: String| {
            usage(format!(
                "{}: expected a safetensors file or a PyTorch archive (zip): {e}",
                path.display()
            ))
        };
        let mut file = read::open(path).map_err(|e| fail(e.to_string()))?;
        let length = file.metadata().map_err(|e| fail(e.to_string()))?.len();
        let bytes = header_bytes(&mut file, length).map_err(fail)?;
        let start = bytes.len() as u64;
        let header: Metadata =
            serde_json::from_slice(&bytes[8..]).map_err(|e| fail(format!("its header: {e}")))?;
        let end = end_of_tensors(&header).map_err(fail)?;
        if start.checked_add(end) != Some(length) {
            return Err(fail(format!(
                "expected {end} bytes of tensors after the {start} bytes of its header, found a \
                 file of {length} bytes; download it again"
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

    /// Returns the names and shapes of all tensors.
    pub fn shapes(&self) -> Vec<(String, Vec<usize>)> {
        let tensors = self.header.tensors();
        let shapes = tensors.into_iter().map(|(name, t)| (name, t.shape.clone()));
        shapes.collect()
    }

    /// Reads the numbers of a tensor.
    ///
    /// # Errors
    /// Bad usage: no such tensor, not floats, or the file is truncated.
    pub fn read(&mut self, name: &str) -> anyhow::Result<Vec<f32>> {
        let path = self.path.display();
        let fail = |e: String| usage(format!("{path}: tensor `{name}`: {e}"));
        let info = self.header.info(name);
        let info = info.ok_or_else(|| fail("not found".into()))?;
        let number = Number::of(info.dtype)
            .ok_or_else(|| fail(format!("expected floats, found {:?}", info.dtype)))?;
        let (from, to) = info.data_offsets;
        let mut bytes = vec![0; to - from];
        self.file
            .seek(SeekFrom::Start(self.start + from as u64))
            .and_then(|_| self.file.read_exact(&mut bytes))
            .map_err(|e| fail(e.to_string()))?;
        number.decode(&bytes).map_err(fail)
    }
}
