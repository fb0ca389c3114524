//! Follow-up queries of the page about photos and taxonomies.
//!
//! A worker keeps the embeddings of the photos that it has read, so no query needs a second encode.
//! Every [`Query`] is answered by one [`Reply::Done`] or [`Reply::Failed`]; progress messages
//! ([`Reply::Fetching`]) may precede it.

use espalier_core::caption::{
    HeatMap, Shown, Subject, TaughtCheck, TaughtConcept, TaxonomyResult, TraversalPoint, Verdict,
};
use serde::{Deserialize, Serialize};

use crate::ui_error::UiError;

/// Number of a photo, assigned by the page in increasing order; answers carry it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PhotoId(pub u64);

/// Number of a query, assigned by the page in increasing order; replies carry it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct QueryId(pub u64);

/// Selects a taxonomy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TreeSource {
    /// The taxonomy of the bundle.
    #[default]
    Bundle,
    /// The taxonomy that the visitor supplied.
    Own,
}

/// A query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Query {
    /// Reads a photo, or a part of it. The photo's bytes are transferred with this message. Unlike
    /// `Request::Caption`, it is never superseded by a newer photo.
    Read {
        /// Number under which the embedding is stored.
        photo: PhotoId,
        /// `x1, y1, x2, y2` as fractions of the width and height of the upright photo; `None` means
        /// the whole photo.
        region: Option<[f32; 4]>,
    },
    /// Computes which places of a photo speak for a caption. The photo's bytes are transferred with
    /// this message.
    Heat {
        /// The photo.
        photo: PhotoId,
        /// A caption of the model, as in the photo's ladder.
        caption: String,
    },
    /// Finds out whether a photo shows two subjects. Its bytes are transferred with this message.
    Subjects,
    /// Classifies a photo against all nodes of a taxonomy.
    Place {
        /// The photo.
        photo: PhotoId,
        /// The taxonomy.
        tree: TreeSource,
        /// Id of the node whose labels are considered; `None` means all labels.
        below: Option<String>,
    },
    /// Explains how far a phrase is from describing a photo.
    WhyNot {
        /// The photo.
        photo: PhotoId,
        /// The taxonomy.
        tree: TreeSource,
        /// The phrase that the visitor typed.
        phrase: String,
    },
    /// Reads a tree supplied by the visitor and embeds its names.
    EmbedTree {
        /// The tree in one of the formats that core reads.
        text: String,
    },
    /// Makes a concept of photos that were read, and tells how well it can be recognised. It is
    /// not taught yet.
    Learn {
        /// Its name.
        name: String,
        /// Id of the node below which it lies.
        below: String,
        /// The taxonomy of that node.
        tree: TreeSource,
        /// Its photos.
        photos: Vec<PhotoId>,
    },
    /// Teaches concepts, in place of all that were taught before.
    Teach {
        /// The concepts.
        concepts: Vec<TaughtConcept>,
    },
    /// Computes the disk positions of all nodes of a taxonomy and of some photos.
    Disk {
        /// The taxonomy.
        tree: TreeSource,
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
        tree: TreeSource,
    },
}

/// A point of a walk, with its nearest caption and its position in the disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WalkStep {
    /// The point, with its nearest caption.
    pub point: TraversalPoint,
    /// Position in the disk.
    pub position: [f64; 2],
}

/// The place of a photo in a taxonomy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// Probability of every node, in the order of the taxonomy's file.
    pub p: Vec<f32>,
    /// The path and the node at which it stops.
    pub path: TaxonomyResult,
    /// Distance of the photo to the root.
    pub radius: f64,
    /// Distance to the root in each factor of a product space; empty for other spaces.
    pub factors: Vec<f64>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueryAnswer {
    /// Answer to [`Query::Read`].
    Read {
        /// The result JSON, as for a caption.
        json: String,
        /// Distance of the photo to the root.
        radius: f64,
    },
    /// Answer to [`Query::Heat`].
    Heat {
        /// The map.
        map: HeatMap,
    },
    /// Answer to [`Query::Subjects`].
    Subjects {
        /// Two subjects, or none if the photo does not clearly show two.
        subjects: Vec<Subject>,
    },
    /// Answer to [`Query::Place`].
    Place(Place),
    /// Answer to [`Query::WhyNot`].
    WhyNot {
        /// The phrase of the query.
        phrase: String,
        /// The verdict on it.
        verdict: Verdict,
        /// The parts of statements that it mentions, with their probabilities; empty without detectors.
        parts: Vec<Shown>,
    },
    /// Answer to [`Query::EmbedTree`].
    TreeEmbedded {
        /// The tree in the format of a bundle's taxonomy.
        tsv: String,
        /// Remark of the reader, such as that the text has several trees.
        note: Option<String>,
    },
    /// Answer to [`Query::Learn`].
    Learned {
        /// The concept.
        concept: TaughtConcept,
        /// How well it can be recognised.
        check: TaughtCheck,
    },
    /// Answer to [`Query::Teach`]: the trees with the taught concepts, in the format of a bundle's
    /// taxonomy.
    Taught {
        /// The tree of the bundle.
        bundle: String,
        /// The visitor's tree, if there is one.
        own: Option<String>,
    },
    /// Answer to [`Query::Disk`].
    Disk {
        /// Position of every node; `None` if no text describes the node.
        nodes: Vec<Option<[f64; 2]>>,
        /// Positions of the photos; `None` if the worker no longer keeps the photo.
        photos: Vec<Option<[f64; 2]>>,
        /// Fraction of the nodes' squared tangent vectors, without the direction that all share,
        /// that the two axes of the disk keep, in `[0, 1]`.
        explained: f64,
    },
    /// Answer to [`Query::Walk`].
    Walk {
        /// The points, evenly spaced, in order from the start.
        steps: Vec<WalkStep>,
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
        answer: QueryAnswer,
    },
    /// The query failed.
    Failed {
        /// The reason.
        error: UiError,
    },
}
