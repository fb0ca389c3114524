//! The result for a photo: the same JSON from page, widget and command line.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::statements::Role;

/// The bundle that computed a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// Name in the manifest.
    pub name: String,
    /// Version in the manifest.
    pub version: String,
    /// SHA-256 of the manifest, which holds the hashes of all other files.
    pub sha256: String,
}

/// The photo that a result belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhotoInfo {
    /// Width in pixels, upright.
    pub width: u32,
    /// Height in pixels, upright.
    pub height: u32,
    /// SHA-256 of the file.
    pub sha256: String,
}

/// One rung of the ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rung {
    /// The caption.
    pub text: String,
    /// Distance of the caption to the root; never smaller than that of the rung before.
    pub radius: f64,
    /// Score of photo and caption, larger is closer.
    pub similarity: f64,
    /// Calibrated probability that the caption is true of the photo; never larger than that of the
    /// rung before. Absent in results of earlier versions, and for captions that name no node.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p: Option<f64>,
    /// Taxonomy node that the caption describes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub node: Option<String>,
}

/// One step of the path in the taxonomy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathStep {
    /// Node.
    pub id: String,
    /// Its first name.
    pub name: String,
    /// Calibrated probability that the photo shows it; never larger than that of the step before.
    pub p: f64,
}

/// A statement about a photo that holds beside the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shown {
    /// What the photo shows.
    pub text: String,
    /// Calibrated probability that at least one of several people would mention it.
    pub p: f64,
    /// The question that it answers.
    pub role: Role,
    /// Taxonomy node that means the same.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub node: Option<String>,
}

/// Place of a photo in the taxonomy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaxonomyResult {
    /// From the root downward.
    pub path: Vec<PathStep>,
    /// The deepest node of the path that the evidence supports.
    pub stop: String,
}

/// Captions and taxonomy path of a photo.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaptionResult {
    /// Bundle.
    pub model: ModelInfo,
    /// Compute backend of the embedding.
    pub backend: String,
    /// Photo.
    pub image: PhotoInfo,
    /// From general to specific, no text twice.
    pub ladder: Vec<Rung>,
    /// Number of rungs, from the first on, that the evidence carries; the others are guesses. Absent
    /// in results of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub said: Option<usize>,
    /// What else the photo shows, most certain first; nothing if the bundle has no detectors.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub shows: Vec<Shown>,
    /// Place in the taxonomy.
    pub taxonomy: TaxonomyResult,
    /// Milliseconds per stage.
    pub timing_ms: BTreeMap<String, f64>,
}

/// The path from the root to a node, with a photo's probability of each step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lineage {
    /// Node.
    pub id: String,
    /// Its first name.
    pub name: String,
    /// From the root to the node, with the calibrated probability that the photo shows each.
    pub path: Vec<PathStep>,
    /// The deepest node that this path shares with the photo's own.
    pub shared: String,
}
