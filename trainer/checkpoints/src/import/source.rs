//! Finds the files of the source that the user names.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use espalier_io::disk::read;
use espalier_io::exit::usage;
use serde_json::Value;

use super::hub::Hub;

/// Usual names of weights files, in order of preference.
const WEIGHTS: [&str; 7] = [
    "model.safetensors",
    "model.safetensors.index.json",
    "open_clip_model.safetensors",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
    "open_clip_pytorch_model.bin",
    "open_clip_pytorch_model.safetensors",
];
const INDEX: &str = ".index.json";

/// Origin of the files.
enum Origin {
    Folder(PathBuf),
    Hub(Hub),
}

/// The files of a source.
pub struct Files {
    /// Weights files; several files are shards of one checkpoint.
    pub weights: Vec<PathBuf>,
    /// Name of the source, without the folders of this machine.
    pub label: String,
    origin: Origin,
}

impl Origin {
    fn names(&self) -> anyhow::Result<Vec<String>> {
        match self {
            Self::Hub(hub) => Ok(hub.names()),
            Self::Folder(folder) => {
                let entries = fs::read_dir(folder)
                    .map_err(|e| usage(format!("{}: {e}", folder.display())))?;
                let files = entries.flatten().filter(|e| e.path().is_file());
                let names = files.map(|e| e.file_name().to_string_lossy().into_owned());
                let names: BTreeSet<String> = names.collect();
                Ok(names.into_iter().collect())
            }
        }
    }

    /// Returns the path of a file, downloading it if needed; `None` if the source has no such file.
    fn get(&self, name: &str) -> anyhow::Result<Option<PathBuf>> {
        match self {
            Self::Folder(folder) => Ok(Some(folder.join(name)).filter(|p| p.is_file())),
            Self::Hub(hub) => hub.get(name),
        }
    }

    fn label(&self) -> String {
        match self {
            Self::Folder(folder) => folder.display().to_string(),
            Self::Hub(hub) => hub.label(),
        }
    }
}

/// Chooses the weights file of a folder or repository: the named one, else the preferred one of the
/// usual names, else the only one.
fn choose(origin: &Origin, named: Option<&str>) -> anyhow::Result<String> {
    if let Some(name) = named {
        return Ok(name.to_owned());
    }
    let names = origin.names()?;
    if let Some(known) = WEIGHTS.iter().find(|w| names.iter().any(|n| n == *w)) {
        return Ok((*known).to_owned());
    }
    let weights = |n: &&String| {
        [".safetensors", ".pth", ".pt", ".bin"]
            .iter()
            .any(|e| n.ends_with(e))
    };
    let found: Vec<&String> = names.iter().filter(weights).collect();
    match found.as_slice() {
        [file] => Ok((*file).clone()),
        [] => Err(usage(format!(
            "{}: expected weights ({}, a .pth, .pt or .bin), found {}",
            origin.label(),
            WEIGHTS[0],
            if names.is_empty() {
                "no file".into()
            } else {
                names.join(", ")
            }
        ))),
        many => {
            let many: Vec<&str> = many.iter().map(|n| n.as_str()).collect();
            Err(usage(format!(
                "{}: expected one weights file, found {}; select one with --file",
                origin.label(),
                many.join(", ")
            )))
        }
    }
}

/// Reads the names of the shards from an index.
fn shards(index: &Path) -> anyhow::Result<BTreeSet<String>> {
    let fail = |e: String| usage(format!("{}: {e}", index.display()));
    let value = read_json(index)?;
    let map = value.get("weight_map").and_then(Value::as_object);
    let map = map.ok_or_else(|| fail("expected a `weight_map` of tensors to files".into()))?;
    map.values()
        .map(|name| {
            let name = name.as_str().unwrap_or_default();
            let plain = !name.is_empty() && !name.contains(['/', '\\']) && name != "..";
            plain.then(|| name.to_owned()).ok_or_else(|| {
                fail(format!(
                    "expected names of files next to it, found `{name}`"
                ))
            })
        })
        .collect()
}

/// Reads a JSON file.
///
/// # Errors
/// Bad usage naming the file.
pub fn read_json(path: &Path) -> anyhow::Result<Value> {
    read::json(path).map_err(|e| usage(format!("{}: expected JSON: {e}", path.display())))
}

impl Files {
    /// Finds the files of `hf-hub:`, `local-dir:`, a folder or a file.
    ///
    /// # Errors
    /// Bad usage: nothing there, no weights, a missing shard, or with `offline` a file that is not
    /// in the cache; another error (exit code 1) if the hub cannot be reached.
    pub fn find(source: &str, named: Option<&str>, offline: bool) -> anyhow::Result<Self> {
        let is_outside = |name: &str| name.contains("..") || name.starts_with('/');
        if named.is_some_and(is_outside) {
            return Err(usage(
                "--file: expected the name of a file inside the source",
            ));
        }
        if let Some(id) = source.strip_prefix("hf-hub:") {
            return Self::in_hub(Hub::open(id, offline)?, named);
        }
        let path = PathBuf::from(source.strip_prefix("local-dir:").unwrap_or(source));
        if path.is_dir() {
            return Self::chosen(Origin::Folder(path), named);
        }
        if path.is_file() && !source.starts_with("local-dir:") {
            let folder = path.parent().unwrap_or(Path::new("")).to_owned();
            let name = path.file_name().unwrap_or_default();
            return Self::of(Origin::Folder(folder), &name.to_string_lossy());
        }
        Err(usage(format!(
            "{source}: expected hf-hub:org/name, local-dir:PATH, a folder or a file, found nothing \
             there"
        )))
    }

    /// Finds the files of a repository.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn in_hub(hub: Hub, named: Option<&str>) -> anyhow::Result<Self> {
        Self::chosen(Origin::Hub(hub), named)
    }

    fn chosen(origin: Origin, named: Option<&str>) -> anyhow::Result<Self> {
        let first = choose(&origin, named)?;
        Self::of(origin, &first)
    }

    fn of(origin: Origin, first: &str) -> anyhow::Result<Self> {
        let weights = Self::weights_of(&origin, first)?;
        let label = match &origin {
            Origin::Hub(hub) => hub.label(),
            Origin::Folder(folder) => match folder.file_name().map(|name| name.to_string_lossy()) {
                Some(name) => format!("{name}/{first}"),
                None => first.to_owned(),
            },
        };
        Ok(Self {
            weights,
            label,
            origin,
        })
    }

    fn weights_of(origin: &Origin, first: &str) -> anyhow::Result<Vec<PathBuf>> {
        let missing = |name: &str, why: &str| {
            usage(format!(
                "{}: expected `{name}`{why}, found no such file",
                origin.label()
            ))
        };
        let path = origin.get(first)?.ok_or_else(|| missing(first, ""))?;
        if !first.ends_with(INDEX) {
            return Ok(vec![path]);
        }
        shards(&path)?
            .iter()
            .map(|name| {
                let why = format!(", a shard that `{first}` lists");
                origin.get(name)?.ok_or_else(|| missing(name, &why))
            })
            .collect()
    }

    /// Reads a JSON file next to the weights, if there is one.
    ///
    /// # Errors
    /// Bad usage if it is not JSON, or an error if it cannot be downloaded.
    pub fn json(&self, name: &str) -> anyhow::Result<Option<Value>> {
        self.origin
            .get(name)?
            .map(|path| read_json(&path))
            .transpose()
    }

    /// Reads a text file next to the weights, if there is one.
    ///
    /// # Errors
    /// Bad usage if it cannot be read, or an error if it cannot be downloaded.
    pub fn text(&self, name: &str) -> anyhow::Result<Option<String>> {
        let Some(path) = self.origin.get(name)? else {
            return Ok(None);
        };
        let text = read::text(&path);
        text.map(Some)
            .map_err(|e| usage(format!("{}: {e}", path.display())))
    }
}
