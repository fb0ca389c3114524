//! What the page asks of a worker beyond a photo's first answer.
//!
//! A worker keeps the points of the photos that it has read, so that none of these questions needs a
//! second encode. Every [`Ask`] is answered by one [`Reply::Done`] or [`Reply::Failed`], perhaps
//! after some [`Reply::Fetching`].

use espalier_core::caption::{Passed, TaxonomyResult, Verdict};
use serde::{Deserialize, Serialize};

use super::photo_id::PhotoId;
use crate::ui_error::UiError;

/// Number of a question, counted up by the page; replies carry it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AskId(pub u64);

/// Which taxonomy is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    /// The one of the bundle.
    #[default]
    Bundle,
    /// The one that the visitor brought.
    Own,
}

/// A question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// Read a photo whose bytes travel beside this message, or a part of it. Unlike a caption, it
    /// is never overtaken by the next one.
    Read {
        /// Number under which its point is kept.
        photo: PhotoId,
        /// `x1, y1, x2, y2` in shares of width and height of the upright photo; all of it where
        /// there is none.
        region: Option<[f32; 4]>,
    },
    /// Where a photo lies among all nodes of a taxonomy.
    Place {
        /// The photo.
        photo: PhotoId,
        /// The taxonomy.
        tree: Which,
        /// Id of the node whose labels alone are asked.
        below: Option<String>,
    },
    /// Fetch the text tower and keep it.
    TextTower,
    /// What stands between a photo and a phrase.
    WhyNot {
        /// The photo.
        photo: PhotoId,
        /// The taxonomy.
        tree: Which,
        /// What the visitor typed.
        phrase: String,
    },
    /// Read a tree that the visitor brought, and embed its names.
    Plant {
        /// The tree in one of the forms that core reads.
        text: String,
    },
    /// Places of all nodes of a taxonomy in the disk, and of some photos.
    Disk {
        /// The taxonomy.
        tree: Which,
        /// The photos.
        photos: Vec<PhotoId>,
    },
    /// The captions on the way from a photo to the root, or to another photo.
    Walk {
        /// Where it begins.
        from: PhotoId,
        /// Where it ends; the root where there is none.
        to: Option<PhotoId>,
        /// The taxonomy in whose disk the way is drawn.
        tree: Which,
    },
}

/// A point of a walk, and its place in the disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// What is passed.
    pub passed: Passed,
    /// Where.
    pub at: [f64; 2],
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskAnswer {
    /// Of [`Ask::Read`].
    Read {
        /// The result JSON, as for a caption.
        json: String,
        /// Distance of the photo to the root.
        radius: f64,
    },
    /// Of [`Ask::Place`].
    Place {
        /// Probability of every node, in the order of the taxonomy's file.
        p: Vec<f32>,
        /// The path and its stop.
        path: TaxonomyResult,
        /// Distance of the photo to the root.
        radius: f64,
        /// Distance to the root in each factor of a product; empty elsewhere.
        factors: Vec<f64>,
    },
    /// Of [`Ask::TextTower`].
    TextTower,
    /// Of [`Ask::WhyNot`].
    WhyNot {
        /// What was asked.
        phrase: String,
        /// What came of it.
        verdict: Verdict,
    },
    /// Of [`Ask::Plant`].
    Planted {
        /// The tree in the form of a bundle's taxonomy.
        tsv: String,
    },
    /// Of [`Ask::Disk`].
    Disk {
        /// Place of every node; none where no text speaks of it.
        nodes: Vec<Option<[f64; 2]>>,
        /// Places of the photos; none where the worker no longer knows one.
        photos: Vec<Option<[f64; 2]>>,
        /// Share of what tells the nodes apart that the directions keep.
        kept: f64,
    },
    /// Of [`Ask::Walk`].
    Walk {
        /// Evenly spaced, from the start.
        steps: Vec<Step>,
    },
}

/// What a worker says to a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// Something has to be fetched first.
    Fetching {
        /// Bytes that have arrived.
        loaded: u64,
        /// Bytes in all.
        total: u64,
    },
    /// The answer.
    Done {
        /// It.
        told: AskAnswer,
    },
    /// There is none.
    Failed {
        /// Why.
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
