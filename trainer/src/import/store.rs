//! Named tensors of weights files, read one at a time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::safetensors_file::SafetensorsFile;
use super::torch_file::TorchFile;
use crate::exit::usage;

/// Shape of a tensor and the file that holds it.
#[derive(Clone, Debug)]
struct Entry {
    shape: Vec<usize>,
    file: usize,
    /// Its name in that file.
    name: String,
}

enum Backing {
    Safetensors(SafetensorsFile),
    Torch(Box<TorchFile>),
}

/// Tensors of one or several weights files.
pub struct Store {
    entries: BTreeMap<String, Entry>,
    files: Vec<Backing>,
    /// Metadata of safetensors files.
    pub metadata: BTreeMap<String, String>,
    /// What stood beside the weights in a training checkpoint and is left there.
    pub left_aside: Vec<String>,
    /// Root of the embedding space, where the file keeps one beside the weights (METHODS 7).
    pub root: Option<Vec<f32>>,
}

/// Whether a file is a zip archive, which is what PyTorch writes. A pickle without one is refused
/// unread: PyTorch before 1.6 wrote such files.
fn is_zip(path: &Path) -> anyhow::Result<bool> {
    use std::io::Read;
    let mut start = [0; 4];
    let fail = |e| usage(format!("{}: {e}", path.display()));
    let mut file = std::fs::File::open(path).map_err(fail)?;
    let read = file.read(&mut start).map_err(fail)?;
    if read > 1 && start[0] == 0x80 && (2..=5).contains(&start[1]) {
        return Err(usage(format!(
            "{}: wanted a safetensors file or a PyTorch archive (zip), found a bare pickle; nothing \
             was run. Save the weights anew with PyTorch 1.6 or later, best as safetensors",
            path.display()
        )));
    }
    Ok(&start[..read] == b"PK\x03\x04")
}

/// Names as the layouts know them: without what wrappers put before them.
fn plain_name(name: &str) -> &str {
    let name = name.strip_prefix("module.").unwrap_or(name);
    // open_clip keeps the text tower of a custom model below `text.`.
    name.strip_prefix("text.").unwrap_or(name)
}

impl Store {
    /// Open weights files; several are shards of one checkpoint.
    ///
    /// # Errors
    /// Bad usage naming the file: not readable, of no known form, corrupt, or a tensor that two
    /// files hold.
    pub fn open(paths: &[PathBuf]) -> anyhow::Result<Self> {
        let mut store = Self {
            entries: BTreeMap::new(),
            files: Vec::new(),
            metadata: BTreeMap::new(),
            left_aside: Vec::new(),
            root: None,
        };
        for path in paths {
            if is_zip(path)? {
                let mut torch = TorchFile::open(path)?;
                store.left_aside.append(&mut torch.left_aside);
                store.root = store.root.or(torch.root()?);
                store.add(path, torch.shapes())?;
                store.files.push(Backing::Torch(Box::new(torch)));
            } else {
                let file = SafetensorsFile::open(path)?;
                store.metadata.extend(file.metadata.clone());
                store.add(path, file.shapes())?;
                store.files.push(Backing::Safetensors(file));
            }
        }
        Ok(store)
    }

    fn add(&mut self, path: &Path, shapes: Vec<(String, Vec<usize>)>) -> anyhow::Result<()> {
        let file = self.files.len();
        for (name, shape) in shapes {
            let plain = plain_name(&name).to_owned();
            let entry = Entry { shape, file, name };
            if self.entries.insert(plain.clone(), entry).is_some() {
                return Err(usage(format!(
                    "{}: wanted every tensor once, found a second `{plain}`",
                    path.display()
                )));
            }
        }
        Ok(())
    }

    /// Names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.entries.keys().map(String::as_str)
    }

    /// Shape of a tensor.
    #[must_use]
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.entries.get(name).map(|e| e.shape.as_slice())
    }

    /// Numbers of a tensor, row by row.
    ///
    /// # Errors
    /// Bad usage when there is no such tensor, it holds no floats, or the file is cut short.
    pub fn read(&mut self, name: &str) -> anyhow::Result<Vec<f32>> {
        let entry = self
            .entries
            .get(name)
            .ok_or_else(|| usage(format!("no tensor `{name}`")))?;
        match &mut self.files[entry.file] {
            Backing::Safetensors(file) => file.read(&entry.name),
            Backing::Torch(file) => file.read(&entry.name),
        }
    }
}
