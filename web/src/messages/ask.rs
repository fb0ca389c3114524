//! Follow-up queries of the page about photos and taxonomies.
//!
//! A worker keeps the embeddings of the photos that it has read, so no query needs a second encode.
//! Every [`Ask`] is answered by one [`Reply::Done`] or [`Reply::Failed`]; progress messages
//! ([`Reply::Fetching`]) may precede it.

use espalier_core::caption::{TaxonomyResult, TraversalPoint, Verdict};
use serde::{Deserialize, Serialize};

use super::photo_id::PhotoId;
use crate::ui_error::UiError;

/// Number of a query, assigned by the page in increasing order; replies carry it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AskId(pub u64);

/// Selects a taxonomy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    /// The taxonomy of the bundle.
    #[default]
    Bundle,
    /// The taxonomy that the visitor supplied.
    Own,
}

/// A query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// Reads a photo, or a part of it. The photo's bytes travel beside this message. Unlike
    /// `Request::Caption`, it is never superseded by a newer photo.
    Read {
        /// Number under which the embedding is kept.
        photo: PhotoId,
        /// `x1, y1, x2, y2` as fractions of the width and height of the upright photo; `None` means
        /// the whole photo.
        region: Option<[f32; 4]>,
    },
    /// Classifies a photo against all nodes of a taxonomy.
    Place {
        /// The photo.
        photo: PhotoId,
        /// The taxonomy.
        tree: Which,
        /// Id of the node whose labels are considered; `None` means all labels.
        below: Option<String>,
    },
    /// Fetches the text encoder and keeps it.
    TextTower,
    /// Explains how far a phrase is from describing a photo.
    WhyNot {
        /// The photo.
        photo: PhotoId,
        /// The taxonomy.
        tree: Which,
        /// The phrase that the visitor typed.
        phrase: String,
    },
    /// Reads a tree supplied by the visitor and embeds its names.
    Plant {
        /// The tree in one of the formats that core reads.
        text: String,
    },
    /// Computes the disk positions of all nodes of a taxonomy and of some photos.
    Disk {
        /// The taxonomy.
        tree: Which,
        /// The photos.
        photos: Vec<PhotoId>,
    },
    /// Finds the captions along the path from a photo to the root, or to another photo.
    Walk {
        /// The photo at the start.
        from: PhotoId,
        /// The photo at the end; `None` means the root.
        to: Option<PhotoId>,
        /// The taxonomy in whose disk the path is drawn.
        tree: Which,
    },
}

/// A point of a walk, and its position in the disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The point, with its nearest caption.
    pub passed: TraversalPoint,
    /// Position in the disk.
    pub at: [f64; 2],
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskAnswer {
    /// Answer to [`Ask::Read`].
    Read {
        /// The result JSON, as for a caption.
        json: String,
        /// Distance of the photo to the root.
        radius: f64,
    },
    /// Answer to [`Ask::Place`].
    Place {
        /// Probability of every node, in the order of the taxonomy's file.
        p: Vec<f32>,
        /// The path and the node at which it stops.
        path: TaxonomyResult,
        /// Distance of the photo to the root.
        radius: f64,
        /// Distance to the root in each factor of a product space; empty for other spaces.
        factors: Vec<f64>,
    },
    /// Answer to [`Ask::TextTower`].
    TextTower,
    /// Answer to [`Ask::WhyNot`].
    WhyNot {
        /// The phrase of the query.
        phrase: String,
        /// The verdict on it.
        verdict: Verdict,
    },
    /// Answer to [`Ask::Plant`].
    Planted {
        /// The tree in the format of a bundle's taxonomy.
        tsv: String,
    },
    /// Answer to [`Ask::Disk`].
    Disk {
        /// Position of every node; `None` if no text describes the node.
        nodes: Vec<Option<[f64; 2]>>,
        /// Positions of the photos; `None` if the worker no longer keeps the photo.
        photos: Vec<Option<[f64; 2]>>,
        /// Fraction of the nodes' squared tangent vectors, without the direction that all share,
        /// that the two axes of the disk keep, in `[0, 1]`.
        kept: f64,
    },
    /// Answer to [`Ask::Walk`].
    Walk {
        /// The points, evenly spaced, in order from the start.
        steps: Vec<Step>,
    },
}

/// Reply of a worker to a query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// Files have to be fetched first.
    Fetching {
        /// Bytes that have arrived.
        loaded: u64,
        /// Total number of bytes.
        total: u64,
    },
    /// The answer.
    Done {
        /// The answer itself.
        told: AskAnswer,
    },
    /// The query failed.
    Failed {
        /// The reason.
        error: UiError,
    },
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn questions_and_replies_survive_the_way() {
        let photo = PhotoId(4);
        let tree = Which::Own;
        for ask in [
            Ask::Read {
                photo,
                region: Some([0.0, 0.25, 0.5, 1.0]),
            },
            Ask::Place {
                photo,
                tree,
                below: Some("n1".into()),
            },
            Ask::TextTower,
            Ask::WhyNot {
                photo,
                tree,
                phrase: "a robin".into(),
            },
            Ask::Plant {
                text: "a\n b\n".into(),
            },
            Ask::Disk {
                tree: Which::Bundle,
                photos: vec![photo],
            },
            Ask::Walk {
                from: photo,
                to: None,
                tree,
            },
        ] {
            let text = serde_json::to_string(&ask).unwrap();
            assert_eq!(serde_json::from_str::<Ask>(&text).unwrap(), ask);
        }
        for reply in [
            Reply::Fetching {
                loaded: 1,
                total: 2,
            },
            Reply::Done {
                told: AskAnswer::Disk {
                    nodes: vec![None, Some([0.5, -0.25])],
                    photos: Vec::new(),
                    kept: 0.5,
                },
            },
            Reply::Failed {
                error: UiError::silent(3),
            },
        ] {
            let text = serde_json::to_string(&reply).unwrap();
            assert_eq!(serde_json::from_str::<Reply>(&text).unwrap(), reply);
        }
    }
}
