//! From the paths that a user names to the one dataset or taxonomy that they mean; the same for
//! every command.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use espalier_core::taxonomy::Taxonomy;

use super::error::{DataError, Result};
use super::{Dataset, Folders, Grit, OpenImages, arrays, coco_boxes, inat, metadata_csv, splits};
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

/// Labelled pictures with what part of their dataset they are.
pub struct Labelled {
    /// The pictures.
    pub data: Arc<dyn Dataset>,
    /// The split or range that was taken, where the data has several.
    pub split: Option<String>,
}

/// Labelled pictures: class folders, arrays of bytes, iNaturalist's JSON, CSV files, or shards. Lists of
/// splits are not looked for: which split is meant is for [`benchmark`] to know.
///
/// # Errors
/// [`DataError`] naming what is wrong with which file.
pub fn labelled(paths: &[PathBuf]) -> Result<Arc<dyn Dataset>> {
    Ok(read(paths, None)?.data)
}

/// The split `split` of labelled pictures, or what the benchmark `dataset` judges of it.
///
/// # Errors
/// [`DataError`] naming what is wrong with which file.
pub fn benchmark(paths: &[PathBuf], dataset: Option<&str>, split: &str) -> Result<Labelled> {
    let found = read(paths, Some((dataset, split)))?;
    if found.split.is_none() && split != splits::TEST {
        return Err(DataError::Setting {
            field: "--split",
            expected: "test for data without lists of its splits, which is taken as it is",
            found: split.to_owned(),
        });
    }
    Ok(found)
}

fn read(paths: &[PathBuf], of: Option<(Option<&str>, &str)>) -> Result<Labelled> {
    let whole = |data: Arc<dyn Dataset>| Labelled { data, split: None };
    if let [one] = paths {
        if arrays::is_one(one) {
            return Ok(whole(Arc::new(arrays::open(one)?)));
        }
        if let Some((dataset, split)) = of
            && let Some(found) = splits::open(one, dataset, split)?
        {
            return Ok(Labelled {
                data: Arc::new(found.data),
                split: Some(found.words),
            });
        }
        if inat::is_one(one) {
            return Ok(whole(Arc::new(inat::open(one)?)));
        }
        if metadata_csv::is_one(one) {
            return Ok(whole(Arc::new(metadata_csv::open(one)?)));
        }
    }
    if paths.iter().any(|path| Folders::is_one(path)) {
        return Ok(whole(Arc::new(Folders::open(paths)?)));
    }
    Ok(whole(Arc::new(Grit::open(paths)?)))
}

/// Pictures with boxes: folders of OpenImages, COCO's instances, or shards.
///
/// # Errors
/// [`DataError`] naming what is wrong with which file.
pub fn scenes(paths: &[PathBuf]) -> Result<Arc<dyn Dataset>> {
    if let [one] = paths
        && coco_boxes::is_one(one)
    {
        return Ok(Arc::new(coco_boxes::open(one)?));
    }
    if paths.iter().any(|path| OpenImages::is_one(path)) {
        return Ok(Arc::new(OpenImages::open(paths)?));
    }
    Ok(Arc::new(Grit::open(paths)?))
}
