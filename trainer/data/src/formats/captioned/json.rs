//! COCO's caption JSON and Karpathy's split files (notation 5.7).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use serde::Deserialize;

use super::images::{Captioned, EXPECTED, ImageFolders, Splits};
use crate::records::error::{DataError, Result};

#[derive(Deserialize)]
struct Index {
    #[serde(default)]
    images: Vec<Image>,
    annotations: Option<Vec<Annotation>>,
}

#[derive(Deserialize)]
struct Image {
    id: Option<serde_json::Value>,
    #[serde(alias = "filename")]
    file_name: String,
    /// Folder of the image in Karpathy's file of COCO.
    #[serde(rename = "filepath")]
    folder: Option<String>,
    split: Option<String>,
    sentences: Option<Vec<Sentence>>,
}

impl Image {
    fn name(&self) -> String {
        match &self.folder {
            Some(folder) => format!("{folder}/{}", self.file_name),
            None => self.file_name.clone(),
        }
    }
}

#[derive(Deserialize)]
struct Sentence {
    raw: String,
}

#[derive(Deserialize)]
struct Annotation {
    image_id: serde_json::Value,
    caption: String,
}

/// Reads the images of some splits with their captions.
pub(super) fn read(
    file: &Path,
    splits: Splits<'_>,
    folders: &ImageFolders,
    into: &mut Captioned,
) -> Result<()> {
    let index: Index = DataError::read_json(file, EXPECTED)?;
    match index.annotations {
        Some(annotations) => {
            add_coco(into, index.images, annotations, folders);
            Ok(())
        }
        None => add_karpathy(into, index.images, splits, folders)
            .map_err(|found| DataError::layout(file, EXPECTED, found)),
    }
}

fn add_coco(
    into: &mut Captioned,
    images: Vec<Image>,
    annotations: Vec<Annotation>,
    folders: &ImageFolders,
) {
    let mut index_of_id: HashMap<String, u32> = HashMap::new();
    let mut captions: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for image in images {
        let id = image
            .id
            .as_ref()
            .map_or_else(|| image.file_name.clone(), ToString::to_string);
        if index_of_id.contains_key(&id) {
            into.coverage.note("image id given twice", 1, &id);
            continue;
        }
        let image = into.add_image(image.name(), folders);
        index_of_id.insert(id, image);
    }
    for Annotation { image_id, caption } in annotations {
        match index_of_id.get(&image_id.to_string()) {
            Some(image) => captions.entry(*image).or_default().push(caption),
            None => into.coverage.note("caption without an image", 1, &caption),
        }
    }
    for image in 0..into.names.len() as u32 {
        into.add_captions(image, captions.remove(&image).unwrap_or_default());
    }
}

/// Adds the images of some splits, and those without a split; the error lists the splits that there are.
fn add_karpathy(
    into: &mut Captioned,
    images: Vec<Image>,
    splits: Splits<'_>,
    folders: &ImageFolders,
) -> std::result::Result<(), String> {
    let mut seen = HashSet::new();
    let mut others: BTreeSet<String> = BTreeSet::new();
    for image in images {
        if let Some(split) = image.split.as_ref().filter(|split| !splits.contains(split)) {
            others.insert(split.clone());
            continue;
        }
        let name = image.name();
        if !seen.insert(name.clone()) {
            into.coverage.note("image named twice", 1, &name);
        }
        let number = into.add_image(name, folders);
        let sentences = image.sentences.unwrap_or_default();
        into.add_captions(number, sentences.into_iter().map(|sentence| sentence.raw));
    }
    if into.names.is_empty() && !others.is_empty() {
        let others: Vec<String> = others.into_iter().collect();
        return Err(format!(
            "no image of split {splits}; its splits are {}",
            others.join(", ")
        ));
    }
    Ok(())
}
