//! Resolves `--data PATH…` (files, folders, globs, braces and lists, on disk and in object storage, mixed)
//! to a list of shards.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use espalier_io::storage;

use crate::records::error::{DataError, Result};
use crate::records::path_list::spell_out;
use crate::records::prepared::{PREPARED, PREPARING, check_complete, check_finished};
use crate::records::walk::{self, LeftOut};

/// Ends of the names of tars, plain and compressed. Those of bzip2 and xz are named when they are opened.
const TARS: [&str; 7] = [
    ".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst", ".tar.bz2", ".tar.xz",
];

/// Rule for files beside shards.
const NO_SHARD: &str = "file beside the shards";
/// Rule for lists of addresses and compressed copies beside a tar of the same name.
const TWIN: &str = "file beside a tar of the same name";

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
    pub fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        if name.ends_with(".parquet") {
            Some(Self::Parquet)
        } else {
            let mut tars = TARS.iter();
            tars.any(|end| name.ends_with(end)).then_some(Self::Tar)
        }
    }
}

/// Returns the folder of a file; `.` for a name without a folder.
pub fn folder_of(file: &Path) -> PathBuf {
    let parent = file.parent().filter(|p| !p.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).to_owned()
}

/// Returns all shards that `paths` name, in the order given; those of a folder or glob are sorted
/// by name. A file named twice is taken once. Braces and lists are spelled out first.
///
/// An address with the extension of a shard is taken as it is; its object is looked for when it is opened.
///
/// In folders and globs, other files are left out, and so is `X.parquet` next to `X.tar`, the list of addresses
/// that img2dataset writes.
///
/// # Errors
/// If a path does not exist or is not a shard, a folder or glob holds no shard, or the preparation of
/// its shards has not ended.
pub fn expand(paths: &[PathBuf]) -> Result<Vec<(PathBuf, Container)>> {
    expand_counted(paths).map(|(shards, _)| shards)
}

/// As [`expand`], with the other files of folders and globs, by the rule that leaves them out.
///
/// # Errors
/// As [`expand`].
pub fn expand_counted(paths: &[PathBuf]) -> Result<(Vec<(PathBuf, Container)>, LeftOut)> {
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
    let mut left_out = LeftOut::new();
    for path in &spelled {
        if storage::is_remote(path) {
            shards.extend(remote(path, &mut left_out)?);
        } else if path.is_dir() {
            let entries = walk::entries(path)?;
            check_complete(path, &entries.files)?;
            walk::merge(&mut left_out, entries.left_out);
            let files = [entries.files, entries.folders].concat();
            shards.extend(select(path, files, Path::is_file, &mut left_out)?);
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
            let folders: BTreeSet<PathBuf> = files.iter().map(|file| folder_of(file)).collect();
            for folder in &folders {
                check_finished(folder)?;
            }
            shards.extend(select(path, files, Path::is_file, &mut left_out)?);
        } else {
            return Err(DataError::NoSuchPath(path.clone()));
        }
    }
    let mut seen = BTreeSet::new();
    shards.retain(|(path, _)| seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())));
    Ok((shards, left_out))
}

/// Returns the shards that an address stands for: an object, the objects below a prefix, or those whose
/// names match a pattern.
fn remote(path: &Path, left_out: &mut LeftOut) -> Result<Vec<(PathBuf, Container)>> {
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
        if objects.iter().any(|object| object.ends_with(PREPARING)) {
            check_complete(folder, &objects)?;
        }
        objects.retain(|object| {
            let name = object.file_name().and_then(OsStr::to_str);
            name.is_some_and(|name| pattern.matches(name))
        });
        return select(path, objects, |_| true, left_out);
    }
    if let Some(container) = Container::of(path) {
        return Ok(vec![(path.to_owned(), container)]);
    }
    let objects = list(path)?;
    check_complete(path, &objects)?;
    select(path, objects, |_| true, left_out)
}

/// Returns the path of a shard without the end that makes it one.
fn stem(file: &Path) -> PathBuf {
    let name = file.to_string_lossy();
    let lower = name.to_ascii_lowercase();
    let ends = TARS.iter().chain(&[".parquet"]);
    let end = ends.filter(|end| lower.ends_with(**end)).map(|e| e.len());
    PathBuf::from(&name[..name.len() - end.max().unwrap_or(0)])
}

/// Selects the shards among the files of a folder or glob, sorted by name; counts the other files.
fn select(
    place: &Path,
    mut files: Vec<PathBuf>,
    is_file: fn(&Path) -> bool,
    left_out: &mut LeftOut,
) -> Result<Vec<(PathBuf, Container)>> {
    files.sort();
    let is_plain = |file: &Path| {
        file.extension()
            .is_some_and(|e| e.eq_ignore_ascii_case("tar"))
    };
    let is_tar = |file: &&PathBuf| Container::of(file) == Some(Container::Tar);
    let tars: BTreeSet<PathBuf> = files.iter().filter(is_tar).map(|f| stem(f)).collect();
    let plain = files.iter().filter(|f| is_plain(f));
    let plain: BTreeSet<PathBuf> = plain.map(|f| stem(f)).collect();
    let mut shards = Vec::new();
    for file in files.iter().filter(|file| is_file(file)) {
        let Some(container) = Container::of(file) else {
            let is_list = file.ends_with(PREPARED);
            walk::leave_out(left_out, NO_SHARD, (!is_list).into(), file);
            continue;
        };
        let has_twin = match container {
            Container::Tar => !is_plain(file) && plain.contains(&stem(file)),
            Container::Parquet => tars.contains(&stem(file)),
        };
        match has_twin {
            true => walk::leave_out(left_out, TWIN, 1, file),
            false => shards.push((file.clone(), container)),
        }
    }
    if shards.is_empty() {
        return Err(DataError::NothingFound {
            place: place.display().to_string(),
            found: summary(&files) + &below(&files),
        });
    }
    Ok(shards)
}

/// Names the folders of a place that contain shards.
fn below(files: &[PathBuf]) -> String {
    let has_shards = |folder: &&PathBuf| {
        let files = walk::entries(folder).map(|found| found.files);
        files.is_ok_and(|files| files.iter().any(|file| Container::of(file).is_some()))
    };
    let folders = files.iter().filter(|path| path.is_dir()).filter(has_shards);
    let names = folders.take(3).map(|path| path.display().to_string());
    let names: Vec<String> = names.collect();
    match names.is_empty() {
        true => String::new(),
        false => format!("; shards lie in {}", names.join(", ")),
    }
}

/// Summarises the contents of a place without shards, for example `3 .json, 1 folder`.
fn summary(files: &[PathBuf]) -> String {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for file in files {
        let kind = match file.extension().and_then(OsStr::to_str) {
            _ if file.is_dir() => "folder".to_owned(),
            Some(extension) => format!(".{extension}"),
            None => "without extension".to_owned(),
        };
        *kinds.entry(kind).or_default() += 1;
    }
    if kinds.is_empty() {
        return "nothing".to_owned();
    }
    let counts = kinds.iter().map(|(kind, n)| match kind.as_str() {
        "folder" if *n > 1 => format!("{n} folders"),
        kind => format!("{n} {kind}"),
    });
    counts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_files::{folder_with, write};

    fn names(shards: &[(PathBuf, Container)]) -> Vec<String> {
        shards
            .iter()
            .map(|(path, _)| path.file_name().unwrap().to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn files_folders_and_globs_mix_and_nothing_is_taken_twice() {
        let dir = folder_with(&["b.tar", "a.parquet", "a.json", "b.parquet", "c.PARQUET"]);
        let at = |name: &str| dir.path().join(name);
        let shards = expand(&[at("c.PARQUET"), dir.path().into(), at("*.tar")]).unwrap();
        // b.parquet is the metadata sidecar of b.tar.
        assert_eq!(names(&shards), ["c.PARQUET", "a.parquet", "b.tar"]);
        assert_eq!(names(&expand(&[at("b.parquet")]).unwrap()), ["b.parquet"]);
    }

    #[test]
    fn compressed_tars_are_shards_and_other_files_are_counted() {
        let tars = ["a.tar", "a.tar.gz", "b.tar.gz", "c.tar.zst", ".e.tar"];
        let dir = folder_with(&[&tars[..], &["b.parquet", "d.json"]].concat());
        let (shards, left_out) = expand_counted(&[dir.path().into()]).unwrap();
        assert_eq!(names(&shards), ["a.tar", "b.tar.gz", "c.tar.zst"]);
        let counts: Vec<u64> = left_out.values().map(|m| m.count).collect();
        assert_eq!((left_out[TWIN].count, left_out[NO_SHARD].count), (2, 1));
        assert_eq!(shards.len() as u64 + counts.iter().sum::<u64>(), 7);
    }

    #[test]
    fn what_is_no_shard_is_named() {
        let dir = folder_with(&["a.json"]);
        let at = |name: &str| dir.path().join(name);
        let message = |path: PathBuf| expand(&[path]).unwrap_err().to_string();
        std::fs::create_dir(at("sub")).unwrap();

        assert!(message(at("a.json")).contains("expected a .parquet or .tar shard, found .json"));
        assert!(message(dir.path().into()).contains("found 1 .json, 1 folder"));
        assert!(message(at("sub")).contains("found nothing"));
        write(dir.path(), &[("sub/a.tar", "x")]);
        assert!(message(dir.path().into()).contains("shards lie in "));
        assert!(message(at("*.zip")).contains("found nothing"));
        assert!(message(at("gone.tar")).starts_with("no such file or folder"));
        assert!(message(at("[.tar")).starts_with("glob '"));
        let nothing = expand(&[]).unwrap_err().to_string();
        assert!(nothing.contains("found no path"));
    }
}
