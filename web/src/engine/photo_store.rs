//! The worker's model and the photos that it has read recently.

use std::collections::VecDeque;

use espalier_core::bundle::{BundleFiles, Manifest};
use espalier_core::caption::{
    CaptionResult, Captioner, Reading, Receipt, Request, TaughtConcept, placed_in,
};

use crate::load::js::now;
use crate::messages::protocol::{Backend, Response};
use crate::messages::query::PhotoId;
use crate::narration::{narrate, place_sentence};
use crate::ui_error::{Cause, UiError};

/// Maximum number of photos whose embeddings are stored for later queries, for example those of a
/// folder, or of several elements of a page that share one worker.
const MAX_PHOTOS: usize = 2048;

/// A photo that was read.
struct StoredPhoto {
    id: PhotoId,
    reading: Reading,
}

/// A loaded model and the photos read with it.
pub struct PhotoStore {
    backend: Backend,
    manifest: Manifest,
    captioner: Captioner,
    photos: VecDeque<StoredPhoto>,
}

impl PhotoStore {
    /// Creates a store without photos.
    pub fn new(backend: Backend, manifest: Manifest, captioner: Captioner) -> Self {
        Self {
            backend,
            manifest,
            captioner,
            photos: VecDeque::new(),
        }
    }

    /// Reads a photo, or the region with these edges (left, top, right, bottom, as fractions of the
    /// sides), with the same decoding, preprocessing and ranking as the command line. Returns the
    /// result as JSON.
    ///
    /// # Errors
    /// When the photo cannot be read, the region holds no pixel, or the device fails.
    pub async fn read(
        &mut self,
        id: PhotoId,
        photo: &[u8],
        region: Option<[f32; 4]>,
    ) -> Result<String, UiError> {
        let request = Request {
            region,
            below: None,
        };
        let reading = self.captioner.read(photo, request, now).await?;
        let json = self.json(&reading);
        let photo = StoredPhoto { id, reading };
        self.photos.retain(|other| other.id != id);
        self.photos.push_front(photo);
        self.photos.truncate(MAX_PHOTOS);
        json
    }

    /// Returns the model.
    pub fn captioner(&self) -> &Captioner {
        &self.captioner
    }

    /// Returns the embedding of a recently read photo.
    ///
    /// # Errors
    /// When the photo is no longer stored.
    pub fn point(&self, id: PhotoId) -> Result<&[f32], UiError> {
        Ok(&self.reading(id)?.embedding)
    }

    /// Returns what was read from a recent photo.
    ///
    /// # Errors
    /// When the photo is no longer stored.
    pub fn reading(&self, id: PhotoId) -> Result<&Reading, UiError> {
        Ok(&self.photos[self.find(id)?].reading)
    }

    /// Ranks a recently read photo again, at or below a node if one is given.
    ///
    /// # Errors
    /// When the photo is no longer stored, or the taxonomy lacks the node.
    pub fn rank(&mut self, id: PhotoId, below: Option<String>) -> Result<Response, UiError> {
        let index = self.find(id)?;
        let reading = &mut self.photos[index].reading;
        let ranked = reading.rank_again(&self.captioner, below);
        ranked.map_err(unknown_node)?;
        let json = self.json(&self.photos[index].reading)?;
        Ok(Response::Result { id, json })
    }

    /// Turns a result into text.
    ///
    /// # Errors
    /// When the JSON is not a result.
    pub fn narrate(&self, id: PhotoId, json: &str) -> Result<Response, UiError> {
        let result: CaptionResult = serde_json::from_str(json)?;
        let tree = self.captioner.classifier().taxonomy();
        let mut narration = narrate(&result, &self.manifest, Some(tree));
        if let Ok(reading) = self.reading(id)
            && let Some(below) = &reading.below
        {
            let mut receipt = Receipt::new(result, &self.manifest);
            receipt.below = Some(below.clone());
            narration.receipt = serde_json::to_string_pretty(&receipt)?;
        }
        Ok(Response::Narrated { id, narration })
    }

    /// Compares the path to a node with the path of a recently read photo.
    ///
    /// # Errors
    /// When the photo is no longer stored, or the taxonomy lacks the node.
    pub fn lineage(&self, id: PhotoId, node: &str) -> Result<Response, UiError> {
        let reading = self.reading(id)?;
        let lineage = self.captioner.lineage(&reading.embedding, node);
        let lineage = lineage.map_err(unknown_node)?;
        let sentence = place_sentence(&lineage, &reading.caption.taxonomy);
        Ok(Response::Lineage {
            id,
            lineage,
            sentence,
        })
    }

    /// Adds a later shard of the captions and returns new answers for the photos whose answers
    /// change.
    ///
    /// # Errors
    /// When the files do not fit the bundle.
    pub fn grow(&mut self, shard: u32, files: &BundleFiles) -> Result<Vec<Response>, UiError> {
        self.captioner.grow(&self.manifest, shard, files)?;
        self.rank_all()
    }

    /// Teaches concepts in place of those taught before, and returns new answers for the photos
    /// whose answers change. Concepts whose place is no node of the bundle's taxonomy are left out.
    ///
    /// # Errors
    /// When a concept is invalid.
    pub fn teach(&mut self, concepts: &[TaughtConcept]) -> Result<Vec<Response>, UiError> {
        let ours = placed_in(self.captioner.untaught().taxonomy(), concepts);
        self.captioner.teach(&ours).map_err(UiError::bad_concepts)?;
        self.rank_all()
    }

    /// Ranks all photos again and returns the answers that changed.
    fn rank_all(&mut self) -> Result<Vec<Response>, UiError> {
        let mut answers = Vec::new();
        for index in 0..self.photos.len() {
            let StoredPhoto { id, reading } = &mut self.photos[index];
            let (id, below) = (*id, reading.below.clone());
            let tree = self.captioner.classifier().taxonomy();
            // A taught node may have been removed.
            let below = below.filter(|below| tree.find(below).is_some());
            if reading
                .rank_again(&self.captioner, below)
                .map_err(unknown_node)?
            {
                let json = self.json(&self.photos[index].reading)?;
                answers.push(Response::Finer { id, json });
            }
        }
        Ok(answers)
    }

    fn find(&self, id: PhotoId) -> Result<usize, UiError> {
        let index = self.photos.iter().position(|photo| photo.id == id);
        index.ok_or_else(UiError::forgotten_photo)
    }

    fn json(&self, reading: &Reading) -> Result<String, UiError> {
        let result = reading.result(&self.captioner, self.backend.as_str());
        Ok(serde_json::to_string_pretty(&result)?)
    }
}

/// Converts the error about a missing node. The request is at fault, not the model or the engine.
fn unknown_node(error: espalier_core::CoreError) -> UiError {
    UiError::new(
        Cause::Photo,
        "The taxonomy of this model has no such place.",
        "Name a node by its id, for example n00015388.",
    )
    .with_detail(error.to_string())
}
