//! Models of other programs, converted and kept: one folder each in the user's cache folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context;
use espalier_io::disk::cache::cache_folder;
use espalier_io::disk::read;
use espalier_io::disk::run_folder::MODEL;
use espalier_io::disk::write::write_atomic;
use espalier_io::exit::usage;
use serde::{Deserialize, Serialize};

/// File of a kept model that says where it comes from.
const SOURCE: &str = "source.json";

/// Where a kept model comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Its name on the command line, without a revision.
    pub name: String,
    /// The files that it was made from, with the commit of a hub.
    pub files: String,
}

/// A kept model.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Its folder.
    pub folder: PathBuf,
    /// Source of the model.
    pub source: Source,
    /// Bytes of its files.
    pub bytes: u64,
    /// When it was last written.
    pub written: SystemTime,
}

/// Returns the folder that a model with this key is kept in.
pub fn folder_of(key: &str) -> PathBuf {
    let plain = |c: char| {
        let is_plain = c.is_ascii_alphanumeric() || "-_.@".contains(c);
        if is_plain { c } else { '-' }
    };
    let name: String = key.replace('/', "--").chars().map(plain).collect();
    cache_folder("models").join(name)
}

/// Returns the model in a folder of the cache, if it is complete.
pub fn find(folder: &Path) -> Option<Kept> {
    let weights = fs::metadata(folder.join(MODEL)).ok()?;
    let text = read::text(folder.join(SOURCE)).ok()?;
    let entries = fs::read_dir(folder).ok()?.flatten();
    let sizes = entries
        .filter_map(|entry| entry.metadata().ok())
        .map(|file| file.len());
    Some(Kept {
        folder: folder.to_owned(),
        source: serde_json::from_str(&text).ok()?,
        bytes: sizes.sum(),
        written: weights.modified().ok()?,
    })
}

/// Lists the kept models by name.
pub fn all() -> Vec<Kept> {
    let entries = fs::read_dir(cache_folder("models"));
    let entries = entries.into_iter().flatten().flatten();
    let mut found: Vec<Kept> = entries.filter_map(|entry| find(&entry.path())).collect();
    found.sort_by(|a, b| (&a.source.name, &a.folder).cmp(&(&b.source.name, &b.folder)));
    found
}

/// Returns the newest kept model with a name.
pub fn newest(name: &str) -> Option<Kept> {
    let own = all().into_iter().filter(|kept| kept.source.name == name);
    own.max_by_key(|kept| kept.written)
}

/// Writes where a model comes from, before its weights.
pub(super) fn describe(folder: &Path, source: &Source) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    write_atomic(&folder.join(SOURCE), &serde_json::to_vec_pretty(source)?)
}

/// Removes the kept models with a name, and returns them.
///
/// # Errors
/// Bad usage if there is none; a failing disk.
pub fn remove(name: &str) -> anyhow::Result<Vec<Kept>> {
    let (own, others): (Vec<Kept>, Vec<Kept>) =
        all().into_iter().partition(|kept| kept.source.name == name);
    if own.is_empty() {
        let known: Vec<String> = others.into_iter().map(|kept| kept.source.name).collect();
        return Err(usage(format!(
            "{name}: expected the name of a model in the cache {}, found {}",
            cache_folder("models").display(),
            if known.is_empty() {
                "none there".to_owned()
            } else {
                known.join(", ")
            }
        )));
    }
    for kept in &own {
        let folder = &kept.folder;
        // The weights first: a folder without them is no model.
        fs::remove_file(folder.join(MODEL))
            .and_then(|()| fs::remove_dir_all(folder))
            .with_context(|| format!("removing {}", folder.display()))?;
    }
    Ok(own)
}
