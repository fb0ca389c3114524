//! Index of the captions that a photo can get.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::files::{self, EMBEDDINGS};
use crate::bundle::{BundleFile, BundleFiles, Manifest, Part};
use crate::error::{CoreError, Result};
use crate::geometry::Space;
use crate::shown;

/// One text of the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptionEntry {
    /// The caption.
    pub text: String,
    /// Taxonomy node that it describes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub node: Option<String>,
    /// 0 for a name alone; larger for captions that describe more of the image than the object
    /// shown.
    #[serde(default)]
    pub detail: u8,
}

/// Captions with their points.
pub type PlacedCaptions = Vec<(CaptionEntry, Vec<f32>)>;

/// Texts with their embeddings and radii, in the same order.
#[derive(Clone, Debug)]
pub struct CaptionIndex {
    entries: Vec<CaptionEntry>,
    embeddings: Vec<f32>,
    radii: Vec<f64>,
    width: usize,
}

/// Reads texts and their embeddings, row major, from two files of a bundle.
fn read_pair(
    (texts, embeddings): (&str, &str),
    bundle: &BundleFiles,
    width: usize,
) -> Result<(Vec<CaptionEntry>, Vec<f32>)> {
    let entries: Vec<CaptionEntry> = serde_json::from_str(bundle.text(texts)?)
        .map_err(|e| CoreError::bundle(texts, format!("expected a list of captions: {e}")))?;
    let tensors = bundle.tensors(embeddings)?;
    let rows = files::values(&tensors, EMBEDDINGS, &[entries.len(), width])?.to_vec();
    Ok((entries, rows))
}

impl CaptionIndex {
    /// Builds an index from texts and their embeddings `[n, width]`, row major.
    ///
    /// # Errors
    /// [`CoreError::Bundle`] when there is no text, a text is empty or may not be
    /// shown ([`crate::shown`]), or an embedding is not finite.
    pub fn new(
        entries: Vec<CaptionEntry>,
        embeddings: Vec<f32>,
        width: usize,
        space: &Space,
    ) -> Result<Self> {
        let invalid = |reason: String| CoreError::bundle(files::CAPTIONS, reason);
        if entries.is_empty() {
            return Err(invalid("expected at least one caption, found none".into()));
        }
        if let Some(row) = entries.iter().position(|e| e.text.trim().is_empty()) {
            return Err(invalid(format!("caption {row} is empty")));
        }
        for (row, entry) in entries.iter().enumerate() {
            let named = [Some(&entry.text), entry.node.as_ref()];
            for text in named.into_iter().flatten() {
                shown::check(text).map_err(|reason| invalid(format!("caption {row}: {reason}")))?;
            }
        }
        if let Some(index) = embeddings.iter().position(|v| !v.is_finite()) {
            return Err(invalid(format!(
                "the embedding of caption {} is not finite",
                index / width
            )));
        }
        let radii = embeddings.chunks(width).map(|e| space.radius(e)).collect();
        Ok(Self {
            entries,
            embeddings,
            radii,
            width,
        })
    }

    /// Reads the index of a bundle: the first shard, and those later shards that are present.
    ///
    /// # Errors
    /// [`CoreError::Bundle`] or a tensor error that names the file.
    pub fn read(manifest: &Manifest, bundle: &BundleFiles, space: &Space) -> Result<Self> {
        let width = manifest.model.d_embed;
        let first = (files::CAPTIONS, files::CAPTION_EMBEDDINGS);
        let (entries, embeddings) = read_pair(first, bundle, width)?;
        let mut index = Self::new(entries, embeddings, width, space)?;
        let later = manifest.later_files_of(&[Part::Captions]);
        let shards: BTreeSet<u32> = later
            .iter()
            .filter(|file| bundle.get(&file.path).is_ok())
            .map(|file| file.shard)
            .collect();
        for shard in shards {
            index.grow(manifest, shard, bundle, space)?;
        }
        Ok(index)
    }

    /// Appends the texts of a later shard.
    ///
    /// # Errors
    /// As [`read`](Self::read); the index is then unchanged.
    pub fn grow(
        &mut self,
        manifest: &Manifest,
        shard: u32,
        bundle: &BundleFiles,
        space: &Space,
    ) -> Result<()> {
        let files = manifest.later_files_of(&[Part::Captions]);
        let path_of = |text: bool| {
            let matches =
                |file: &&&BundleFile| file.shard == shard && (file.dtype == "text") == text;
            let path = files.iter().find(matches).map(|file| file.path.as_str());
            path.ok_or_else(|| {
                let expected = "must list texts and their embeddings";
                let reason = format!("shard {shard} of the captions {expected}");
                CoreError::bundle("manifest.json", reason)
            })
        };
        let (entries, embeddings) =
            read_pair((path_of(true)?, path_of(false)?), bundle, self.width)?;
        let mut more = Self::new(entries, embeddings, self.width, space)?;
        self.entries.append(&mut more.entries);
        self.embeddings.append(&mut more.embeddings);
        self.radii.append(&mut more.radii);
        Ok(())
    }

    /// Replaces the texts of taught concepts by others, which are given with their points.
    pub(super) fn set_taught(
        &mut self,
        captions: PlacedCaptions,
        is_taught: impl Fn(&CaptionEntry) -> bool,
        space: &Space,
    ) {
        let keep: Vec<bool> = self.entries.iter().map(|entry| !is_taught(entry)).collect();
        let kept = |index: usize| keep[index];
        let mut index = 0..keep.len();
        self.entries.retain(|_| index.next().is_some_and(kept));
        let mut index = 0..keep.len();
        self.radii.retain(|_| index.next().is_some_and(kept));
        let rows = self.embeddings.chunks(self.width).zip(&keep);
        let rows = rows.filter(|(_, keep)| **keep);
        self.embeddings = rows.flat_map(|(row, _)| row.iter().copied()).collect();
        for (entry, point) in captions {
            self.radii.push(space.radius(&point));
            self.embeddings.extend(point);
            self.entries.push(entry);
        }
    }

    /// Returns the texts.
    #[must_use]
    pub fn entries(&self) -> &[CaptionEntry] {
        &self.entries
    }

    /// Returns the distance of each text to the root.
    #[must_use]
    pub fn radii(&self) -> &[f64] {
        &self.radii
    }

    /// Returns the point of a text, by its index in [`entries`](Self::entries).
    ///
    /// # Panics
    /// If the index is out of range.
    #[must_use]
    pub fn point(&self, index: usize) -> &[f32] {
        &self.embeddings[index * self.width..(index + 1) * self.width]
    }

    /// Returns the score of every text for an image's embedding; larger is closer.
    #[must_use]
    pub fn scores(&self, space: &Space, image: &[f32]) -> Vec<f64> {
        self.embeddings
            .chunks(self.width)
            .map(|text| space.score(text, image))
            .collect()
    }
}

/// Returns the caption of a node for a test.
#[cfg(test)]
pub(super) fn entry(text: &str, node: &str, detail: u8) -> CaptionEntry {
    CaptionEntry {
        text: text.into(),
        node: Some(node.into()),
        detail,
    }
}
