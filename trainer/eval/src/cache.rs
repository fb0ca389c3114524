//! Embeddings on disk: a model embeds each image only once.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use espalier_core::weights::{HostTensor, Tensors};
use espalier_data::records::paths;
use espalier_io::disk::write::write_atomic;
use espalier_io::storage;
use sha2::{Digest, Sha256};

use super::Points;

/// Cache version: part of every key. Change it when the stored content, or the way it is computed,
/// changes.
const VERSION: &str = concat!("2 ", env!("CARGO_PKG_VERSION"));

/// Names of the tensor and of the metadata entry in a file.
const POINTS: &str = "embeddings";
const NOTES: &str = "notes";

/// A folder of cached embeddings; without a folder nothing is stored.
#[derive(Clone, Debug, Default)]
pub struct Cache {
    folder: Option<PathBuf>,
}

/// Returns the SHA-256 of the parts in hex; each part is preceded by its length.
pub fn key<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for part in std::iter::once(VERSION).chain(parts) {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

/// Returns the fingerprint of files: names, sizes and modification times of the files that the
/// paths and globs match, and of all files below matched folders, and the versions of objects. Does not
/// read file contents.
pub fn stamp(paths: &[PathBuf]) -> String {
    let mut pending: Vec<PathBuf> = paths.to_vec();
    let mut files = Vec::new();
    while let Some(path) = pending.pop() {
        let Ok(metadata) = fs::metadata(&path) else {
            // Expands a glob to its current matches.
            let matches = glob::glob(&path.to_string_lossy()).into_iter().flatten();
            let matches = matches.flatten().filter(|found| found.exists());
            let before = pending.len();
            pending.extend(matches);
            if pending.len() > before {
                continue;
            }
            let Ok(shards) = paths::expand(std::slice::from_ref(&path)) else {
                files.push(format!("{} gone", path.display()));
                continue;
            };
            // Braces and lists stand for other paths, addresses for objects.
            for (shard, _) in shards {
                match storage::version(&shard) {
                    Some(version) => files.push(version),
                    None => pending.push(shard),
                }
            }
            continue;
        };
        if metadata.is_dir() {
            let inside = fs::read_dir(&path).into_iter().flatten().flatten();
            pending.extend(inside.map(|entry| entry.path()));
            continue;
        }
        let modified = metadata.modified().ok();
        let modified = modified.and_then(|t| t.duration_since(UNIX_EPOCH).ok());
        let modified = modified.map_or(0, |t| t.as_nanos());
        files.push(format!("{} {} {modified}", path.display(), metadata.len()));
    }
    files.sort();
    key(files.iter().map(String::as_str))
}

impl Cache {
    /// Returns a cache in a folder, created on the first write; `None` disables the cache.
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self { folder }
    }

    /// Returns the points stored under a key, with their notes. An unreadable file counts as
    /// absent.
    pub fn get(&self, key: &str) -> Option<(Points, String)> {
        let bytes = fs::read(file(self.folder.as_ref()?, key)).ok()?;
        let mut stored = Tensors::read(&bytes).ok()?;
        let tensor = stored.tensors.remove(POINTS)?;
        let &[rows, width] = tensor.shape.as_slice() else {
            return None;
        };
        let points = Points::new(width, tensor.data);
        (points.len() == rows).then(|| (points, stored.metadata.remove(NOTES).unwrap_or_default()))
    }

    /// Stores points under a key. The write is atomic.
    ///
    /// # Errors
    /// When the folder cannot be written to.
    pub fn put(&self, key: &str, points: &Points, notes: &str) -> anyhow::Result<()> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        fs::create_dir_all(folder)
            .map_err(|e| anyhow::anyhow!("--cache {}: {e}", folder.display()))?;
        let tensor = HostTensor {
            shape: vec![points.len(), points.width()],
            data: points.data().to_vec(),
        };
        let stored = Tensors {
            tensors: BTreeMap::from([(POINTS.to_owned(), tensor)]),
            metadata: BTreeMap::from([(NOTES.to_owned(), notes.to_owned())]),
        };
        write_atomic(&file(folder, key), &stored.write(|_, _| None)?)
    }
}

fn file(folder: &Path, key: &str) -> PathBuf {
    folder.join(format!("{key}.safetensors"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_points_are_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::new(Some(dir.path().join("new")));
        let points = Points::new(2, vec![1.0, 2.0, 3.0, 4.0]);
        assert!(cache.get("k").is_none());
        cache.put("k", &points, "note").unwrap();
        assert_eq!(cache.get("k").unwrap(), (points.clone(), "note".to_owned()));
        fs::write(dir.path().join("new/k.safetensors"), "truncated").unwrap();
        assert!(cache.get("k").is_none());
        let disabled = Cache::default();
        disabled.put("k", &points, "").unwrap();
        assert!(disabled.get("k").is_none());
    }

    #[test]
    fn keys_depend_on_part_boundaries_and_stamps_on_file_changes() {
        assert_ne!(key(["ab", "c"]), key(["a", "bc"]));
        assert_eq!(key(["a"]).len(), 64);
        let dir = tempfile::tempdir().unwrap();
        let paths = [dir.path().to_owned()];
        fs::write(dir.path().join("a"), "x").unwrap();
        let first = stamp(&paths);
        assert_eq!(first, stamp(&paths));
        fs::write(dir.path().join("a"), "xy").unwrap();
        assert_ne!(first, stamp(&paths));
        let glob = [dir.path().join("*")];
        let first = stamp(&glob);
        fs::write(dir.path().join("a"), "xyz").unwrap();
        assert_ne!(first, stamp(&glob));
        assert_ne!(stamp(&[dir.path().join("none")]), first);
    }
}
