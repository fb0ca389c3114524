//! From the paths that a user names to the one dataset or taxonomy that they mean; the same for
//! every command.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use espalier_core::taxonomy::Taxonomy;

use super::cifar::Cifar;
use super::error::Result;
use super::inat::Inat;
use super::{Dataset, Folders, Grit, OpenImages};
use crate::exit::usage;

/// The shipped WordNet taxonomy.
pub const WORDNET: &str = include_str!("../../../static/taxonomy/wordnet.tsv");

/// The taxonomy that is itself the data, if the data is one TSV file.
#[must_use]
pub fn taxonomy_file(data: &[PathBuf]) -> Option<&Path> {
    match data {
        [one] if one.extension().is_some_and(|e| e == "tsv") => Some(one),
        _ => None,
    }
}

/// The taxonomy of a flag, else the data where that is one, else WordNet's.
///
/// # Errors
/// Bad usage when the file cannot be read, a taxonomy error naming the line.
pub fn taxonomy(flag: Option<&Path>, data: &[PathBuf]) -> anyhow::Result<Taxonomy> {
    let Some(path) = flag.or_else(|| taxonomy_file(data)) else {
        return Ok(Taxonomy::from_tsv(WORDNET)?);
    };
    let text = std::fs::read_to_string(path)
        .map_err(|e| usage(format!("taxonomy {}: {e}", path.display())))?;
    Ok(Taxonomy::from_tsv(&text)?)
}

/// Labelled pictures: class folders, CIFAR's binary files, iNaturalist's JSON, or shards.
///
/// # Errors
/// [`super::DataError`] naming what is wrong with which file.
pub fn labelled(paths: &[PathBuf]) -> Result<Arc<dyn Dataset>> {
    if let [one] = paths {
        if Cifar::is_one(one) {
            return Ok(Arc::new(Cifar::open(one)?));
        }
        if Inat::is_one(one) {
            return Ok(Arc::new(Inat::open(one)?));
        }
    }
    if paths.iter().any(|path| Folders::is_one(path)) {
        return Ok(Arc::new(Folders::open(paths)?));
    }
    Ok(Arc::new(Grit::open(paths)?))
}

/// Pictures with boxes: folders of OpenImages, or shards.
///
/// # Errors
/// [`super::DataError`] naming what is wrong with which file.
pub fn scenes(paths: &[PathBuf]) -> Result<Arc<dyn Dataset>> {
    if paths.iter().any(|path| OpenImages::is_one(path)) {
        return Ok(Arc::new(OpenImages::open(paths)?));
    }
    Ok(Arc::new(Grit::open(paths)?))
}
