//! Resolves `--data PATH…` (files, folders, globs, braces and lists, on disk and in object storage, mixed)
//! to a list of shards.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use espalier_io::storage;

use crate::records::error::{DataError, Result};
use crate::records::path_list::spell_out;
use crate::records::prepared::{PREPARING, check_complete, check_finished, check_listed};

/// The two container formats, distinguished by extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// `.parquet`
    Parquet,
    /// `.tar`
    Tar,
}

impl Container {
    /// Detects the container by the extension of a file, ignoring case.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "parquet" => Some(Self::Parquet),
            "tar" => Some(Self::Tar),
            _ => None,
        }
    }
}

/// Returns the folder of a file; `.` for a name without a folder.
#[must_use]
pub fn folder_of(file: &Path) -> PathBuf {
    let parent = file.parent().filter(|p| !p.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).to_owned()
}

/// Returns all shards that `paths` name, in the order given; those of a folder or glob are sorted
/// by name. A file named twice is taken once. Braces and lists are spelled out first.
///
/// An address with the extension of a shard is taken as it is; its object is looked for when it is opened.
///
/// In folders and globs, other files are ignored, and so is `X.parquet` next to `X.tar`: this is the
/// URL list written by img2dataset, not a shard.
///
/// # Errors
/// If a path does not exist or is not a shard, a folder or glob holds no shard, or the preparation of
/// its shards has not ended.
pub fn expand(paths: &[PathBuf]) -> Result<Vec<(PathBuf, Container)>> {
    if paths.is_empty() {
        return Err(DataError::NothingFound {
            place: "--data".into(),
            found: "no path".into(),
        });
    }
    let mut spelled = Vec::new();
    for path in paths {
        spelled.extend(spell_out(path)?);
    }
    let mut shards = Vec::new();
    for path in &spelled {
        if storage::is_remote(path) {
            shards.extend(remote(path)?);
        } else if path.is_dir() {
            check_complete(path)?;
            let entries = std::fs::read_dir(path).map_err(DataError::io(path))?;
            let files: std::io::Result<Vec<PathBuf>> =
                entries.map(|entry| entry.map(|e| e.path())).collect();
            let files = files.map_err(DataError::io(path))?;
            shards.extend(select(path, files, Path::is_file)?);
        } else if path.exists() {
            let container = Container::of(path).ok_or_else(|| DataError::UnknownKind {
                path: path.clone(),
                found: match path.extension() {
                    Some(extension) => format!(".{}", extension.to_string_lossy()),
                    None => "no extension".into(),
                },
            })?;
            shards.push((path.clone(), container));
        } else if let Some(pattern) = path.to_str().filter(|p| p.contains(['*', '?', '['])) {
            let files = glob::glob(pattern)
                .map_err(|e| DataError::Pattern {
                    pattern: pattern.to_owned(),
                    reason: e.to_string(),
                })?
                .collect::<Result<Vec<PathBuf>, _>>()
                .map_err(|e| DataError::Io {
                    path: e.path().to_owned(),
                    reason: e.into(),
                })?;
            for folder in files
                .iter()
                .map(|file| folder_of(file))
                .collect::<BTreeSet<_>>()
            {
                check_finished(&folder)?;
            }
            shards.extend(select(path, files, Path::is_file)?);
        } else {
            return Err(DataError::NoSuchPath { path: path.clone() });
        }
    }
    let mut seen = BTreeSet::new();
    shards.retain(|(path, _)| seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())));
    Ok(shards)
}

/// Returns the shards that an address stands for: an object, the objects below a prefix, or those whose
/// names match a pattern.
fn remote(path: &Path) -> Result<Vec<(PathBuf, Container)>> {
    let text = path.to_string_lossy();
    let list = |folder: &Path| storage::list(folder).map_err(DataError::io(folder));
    if text.contains(['*', '[']) {
        let invalid = |reason: String| DataError::Pattern {
            pattern: text.clone().into_owned(),
            reason,
        };
        let (folder, name) = text.rsplit_once('/').unwrap_or(("", &text));
        if folder.contains(['*', '[']) {
            let reason =
                "expected `*` in the last part of an address only; write the others as {a,b}";
            return Err(invalid(reason.into()));
        }
        let pattern = glob::Pattern::new(name).map_err(|e| invalid(e.to_string()))?;
        let folder = Path::new(folder);
        let mut objects = list(folder)?;
        if objects
            .iter()
            .any(|o| o.file_name().is_some_and(|n| n == PREPARING))
        {
            check_listed(folder, &objects)?;
        }
        objects.retain(|o| {
            o.file_name()
                .and_then(OsStr::to_str)
                .is_some_and(|n| pattern.matches(n))
        });
        return select(path, objects, |_| true);
    }
    if let Some(container) = Container::of(path) {
        return Ok(vec![(path.to_owned(), container)]);
    }
    let objects = list(path)?;
    check_listed(path, &objects)?;
    select(path, objects, |_| true)
}

/// Selects the shards among the files of a folder or glob, sorted by name.
fn select(
    place: &Path,
    mut files: Vec<PathBuf>,
    is_file: fn(&Path) -> bool,
) -> Result<Vec<(PathBuf, Container)>> {
    files.sort();
    let tars: BTreeSet<PathBuf> = files
        .iter()
        .filter(|file| Container::of(file) == Some(Container::Tar))
        .map(|file| file.with_extension(""))
        .collect();
    let shards: Vec<_> = files
        .iter()
        .filter(|file| is_file(file))
        .filter_map(|file| Some((file.clone(), Container::of(file)?)))
        .filter(|(file, container)| {
            *container == Container::Tar || !tars.contains(&file.with_extension(""))
        })
        .collect();
    if shards.is_empty() {
        return Err(DataError::NothingFound {
            place: place.display().to_string(),
            found: summary(&files),
        });
    }
    Ok(shards)
}

/// Summarises the contents of a place without shards, for example `3 .json, 1 folder`.
fn summary(files: &[PathBuf]) -> String {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for file in files {
        let kind = if file.is_dir() {
            "folder".to_owned()
        } else {
            file.extension()
                .and_then(OsStr::to_str)
                .map_or_else(|| "without extension".to_owned(), |e| format!(".{e}"))
        };
        *kinds.entry(kind).or_default() += 1;
    }
    if kinds.is_empty() {
        return "nothing".to_owned();
    }
    kinds
        .iter()
        .map(|(kind, n)| match kind.as_str() {
            "folder" if *n > 1 => format!("{n} folders"),
            kind => format!("{n} {kind}"),
        })
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;

    fn names(shards: &[(PathBuf, Container)]) -> Vec<String> {
        shards
            .iter()
            .map(|(path, _)| path.file_name().unwrap().to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn files_folders_and_globs_mix_and_nothing_is_taken_twice() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["b.tar", "a.parquet", "a.json", "b.parquet", "c.PARQUET"] {
            fs::write(at(name), "x").unwrap();
        }
        let shards = expand(&[at("c.PARQUET"), dir.path().into(), at("*.tar")]).unwrap();
        // b.parquet is the metadata sidecar of b.tar.
        assert_eq!(names(&shards), ["c.PARQUET", "a.parquet", "b.tar"]);
        assert_eq!(names(&expand(&[at("b.parquet")]).unwrap()), ["b.parquet"]);
    }

    #[test]
    fn what_is_no_shard_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let message = |path: PathBuf| expand(&[path]).unwrap_err().to_string();
        fs::write(at("a.json"), "x").unwrap();
        fs::create_dir(at("sub")).unwrap();

        assert!(message(at("a.json")).contains("expected a .parquet or .tar shard, found .json"));
        assert!(message(dir.path().into()).contains("found 1 .json, 1 folder"));
        assert!(message(at("sub")).contains("found nothing"));
        assert!(message(at("*.zip")).contains("found nothing"));
        assert!(message(at("gone.tar")).starts_with("no such file or folder"));
        assert!(message(at("[.tar")).starts_with("glob '"));
        assert!(
            expand(&[])
                .unwrap_err()
                .to_string()
                .contains("found no path")
        );
    }
}
