//! Reads a PyTorch archive: a zip with one pickle, which describes tensors, and a file per storage.

use std::io::{Read, Seek};
use std::path::{Path, PathBuf};

use espalier_io::exit::usage;
use zip::{CompressionMethod, ZipArchive};

use super::dictionary::{self, Weights};
use super::pickle::{self, Node, Storage, TensorView};

/// Maximum size of a pickle in bytes; that of a large model with its optimiser has some hundred
/// thousand.
const MAX_PICKLE: u64 = 1 << 28;

/// Source of an archive: a file or memory.
trait Source: Read + Seek {}

impl<T: Read + Seek> Source for T {}

type Archive = ZipArchive<Box<dyn Source>>;

/// An open archive.
pub struct TorchFile {
    path: PathBuf,
    archive: Archive,
    /// Folder inside the archive.
    folder: String,
    pub(super) weights: Weights,
    /// The last storage read and its numbers; consecutive tensors often share a storage.
    last: Option<(Storage, Vec<f32>)>,
    /// Root of the embedding space, stored next to the weights (MERU's CLIP baselines).
    root: Option<TensorView>,
}

/// Reads an uncompressed file in the archive; fails if it has more than `most` bytes.
fn stored(archive: &mut Archive, name: &str, most: u64) -> Result<Vec<u8>, String> {
    let mut entry = archive
        .by_name(name)
        .map_err(|e| format!("`{name}` in it: {e}"))?;
    // The sizes are claims; the method decides whether reading unpacks. What is not packed is never
    // larger than the archive.
    let is_packed = entry.compression() != CompressionMethod::Stored;
    if is_packed || entry.size() > most || entry.size() != entry.compressed_size() {
        return Err(format!(
            "`{name}` in it: expected an uncompressed file of at most {most} bytes, found one that \
             claims {} bytes and is stored as {:?}",
            entry.size(),
            entry.compression()
        ));
    }
    let mut bytes = Vec::new();
    entry
        .read_to_end(&mut bytes)
        .map_err(|e| format!("`{name}` in it: {e}"))?;
    Ok(bytes)
}

impl TorchFile {
    /// Opens an archive, a file or memory, and parses its pickle; `path` names it in messages. Nothing in it is
    /// executed.
    ///
    /// # Errors
    /// Bad usage naming the file: not such an archive, corrupt, or a pickle that names anything not
    /// needed to describe tensors.
    pub fn open(path: &Path, source: impl Read + Seek + 'static) -> anyhow::Result<Self> {
        Self::read_index(path, Box::new(source)).map_err(|reason| {
            usage(format!(
                "{}: expected a PyTorch archive of tensors: {reason}",
                path.display()
            ))
        })
    }

    fn read_index(path: &Path, source: Box<dyn Source>) -> Result<Self, String> {
        let mut archive = ZipArchive::new(source)
            .map_err(|e| format!("{e}; a download that was cut off must be repeated"))?;
        let folder = archive
            .file_names()
            .filter_map(Result::ok)
            .find_map(|name| {
                let folder = name.strip_suffix("data.pkl");
                folder.filter(|f| f.ends_with('/')).map(str::to_owned)
            })
            .ok_or("it has no `data.pkl`")?;
        if archive
            .index_for_name(&format!("{folder}byteorder"))
            .is_some()
        {
            let order = stored(&mut archive, &format!("{folder}byteorder"), 16)?;
            if order != b"little" {
                let order = String::from_utf8_lossy(&order).into_owned();
                return Err(format!("expected little-endian numbers, found `{order}`"));
            }
        }
        let bytes = stored(&mut archive, &format!("{folder}data.pkl"), MAX_PICKLE)?;
        let (arena, top) = pickle::read(&bytes)?;
        let weights = dictionary::find(&arena, top)?;
        let root = arena
            .lookup(top, "root")
            .filter(|_| !weights.keys.is_empty());
        let root = root.and_then(|at| match arena.get(at) {
            Node::Tensor(view) => Some(view.clone()),
            _ => None,
        });
        Ok(Self {
            path: path.to_owned(),
            archive,
            folder,
            weights,
            last: None,
            root,
        })
    }

    /// Reads the numbers of a tensor in row-major order.
    ///
    /// # Errors
    /// Bad usage: no such tensor, not floats, or an archive that is corrupt or truncated.
    pub fn read(&mut self, name: &str) -> anyhow::Result<Vec<f32>> {
        let view = self.weights.tensors.get(name).cloned();
        let found = view
            .ok_or_else(|| "not found".to_owned())
            .and_then(|view| self.numbers(&view));
        found.map_err(|e| usage(format!("{}: tensor `{name}`: {e}", self.path.display())))
    }

    /// Reads the root of the embedding space that is stored next to the weights, if there is one.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn root(&mut self) -> anyhow::Result<Option<Vec<f32>>> {
        let Some(view) = self.root.clone() else {
            return Ok(None);
        };
        let found = self.numbers(&view);
        found
            .map(Some)
            .map_err(|e| usage(format!("{}: `root`: {e}", self.path.display())))
    }

    fn numbers(&mut self, view: &TensorView) -> Result<Vec<f32>, String> {
        let storage = &view.storage;
        if self.last.as_ref().is_none_or(|(last, _)| last != storage) {
            let plain = storage.key.chars().all(|c| c.is_ascii_alphanumeric());
            if !plain {
                return Err(format!(
                    "expected a storage named with letters and digits, found `{}`",
                    storage.key
                ));
            }
            let name = format!("{}data/{}", self.folder, storage.key);
            let bytes = stored(&mut self.archive, &name, u64::MAX)?;
            if Some(bytes.len()) != storage.len.checked_mul(storage.number.bytes()) {
                return Err(format!(
                    "expected a storage of {} numbers of {} bytes each, found {} bytes",
                    storage.len,
                    storage.number.bytes(),
                    bytes.len()
                ));
            }
            self.last = Some((storage.clone(), storage.number.decode(&bytes)?));
        }
        match &self.last {
            Some((_, numbers)) => view.gather(numbers),
            None => Err("its storage was not read".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    #[test]
    fn an_entry_that_is_packed_but_claims_its_packed_size_is_refused() {
        // A million blanks and a pickle of an empty dictionary, packed to about a kilobyte.
        let mut content = b"\x80\x02".to_vec();
        content.extend(b"N0".repeat(500_000));
        content.extend(b"}.");
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        let packed = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        zip.start_file("w/data.pkl", packed).unwrap();
        zip.write_all(&content).unwrap();
        let mut bytes = zip.finish().unwrap().into_inner();
        // The central directory has the packed size, then the unpacked one.
        let directory = bytes.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
        bytes.copy_within(directory + 20..directory + 24, directory + 24);
        let error = TorchFile::open(Path::new("w.pth"), Cursor::new(bytes))
            .err()
            .unwrap();
        let message = error.to_string();
        assert!(
            message.contains("expected an uncompressed file"),
            "{message}"
        );
        assert!(message.contains("Deflated"), "{message}");
    }
}
