//! `[loss]`: weights and variants of the methods.

use espalier_core::geometry::{Form, Join};
use espalier_core::loss::{ImageApex, MarginSide, RootMode};
use serde::{Deserialize, Serialize};

/// What the root of chains is (RE's ablations).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RootKind {
    /// The embedding of the root's text, learned with the tower.
    Text,
    /// The embedding of that text by the tower before training.
    Frozen,
    /// Zero.
    Zero,
}

/// Space of visual hierarchies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartsSpace {
    /// The Lorentz model.
    Lorentz,
    /// Euclidean space, angles about zero.
    Euclidean,
}

/// How angles of cones are evaluated (MERU, HyCoCLIP, PHyCLIP).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Angles {
    /// Exact and finite everywhere.
    Stable,
    /// As published, with the epsilon of MERU and HyCoCLIP, 1e-8.
    Literal,
    /// As published, with the epsilon of PHyCLIP, 1e-6.
    LiteralPhyclip,
}

impl Angles {
    /// The form of this name.
    #[must_use]
    pub fn form(self) -> Form {
        match self {
            Self::Stable => Form::Stable,
            Self::Literal => Form::Literal(1e-8),
            Self::LiteralPhyclip => Form::Literal(1e-6),
        }
    }
}

/// `[loss]`: weights and variants of the methods; each method reads those that are its own
/// (`docs/methods.md`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LossConfig {
    /// Weight of the entailment (MERU, HyCoCLIP, PHyCLIP).
    pub entail: f64,
    /// How angles are evaluated (MERU, HyCoCLIP, PHyCLIP).
    pub angles: Angles,
    /// Cone width factor between modalities (HyCoCLIP, PHyCLIP).
    pub eta_inter: f64,
    /// Cone width factor between box and whole (HyCoCLIP, PHyCLIP).
    pub eta_intra: f64,
    /// Whether boxes and their phrases are further pairs (CLIP, MERU).
    pub boxes_as_pairs: bool,
    /// Factors of the product, 0 for factors of eight coordinates (PHyCLIP).
    pub factors: usize,
    /// How the distances of factors are joined (PHyCLIP).
    pub join: Join,
    /// Weight of the contrast of pictures with the texts of all labels (CLIP, MERU, HyCoCLIP,
    /// PHyCLIP).
    pub labels: f64,
    /// Share of its target that goes to labels near in the taxonomy.
    pub label_smoothing: f64,
    /// Weight of the distillation of the classifier that came with the image encoder; 0 leaves it
    /// out. Needs kept features.
    pub distill: f64,
    /// Weight of the pull of label texts toward the directions that the classifier's rows have in the
    /// embedding.
    #[serde(default)]
    pub anchor: f64,
    /// Temperature of the classifier's probabilities, above 0.
    pub distill_temperature: f64,
    /// Labels of a step that they are compared over; 0 for all.
    pub distill_labels: usize,
    /// Weight of pictures of nothing, of which nothing may be said.
    pub nothing: f64,
    /// Weight of the contrast of nouns with the nodes of the taxonomy that they belong to (CLIP, MERU,
    /// HyCoCLIP, PHyCLIP, ATMG).
    #[serde(default)]
    pub nouns: f64,
    /// Weight of how far the radii of nouns are from those that their generality asks for (MERU,
    /// HyCoCLIP, PHyCLIP).
    #[serde(default)]
    pub generality: f64,
    /// Weight of the order of texts along the taxonomy by their radii (MERU, HyCoCLIP, PHyCLIP).
    pub order: f64,
    /// Weight of the pull-back to the text tower before training (RE, EC).
    pub pull_back: f64,
    /// Weight of the hard mined pairs (RE, EC).
    pub mined: f64,
    /// Weight of the negatives (RE, EC).
    pub negatives: f64,
    /// What the root is (RE, EC).
    pub root: RootKind,
    /// Text of the root where the method's own is not wanted: the empty text for RE and EC,
    /// `Eukarya` for RCME.
    pub root_text: Option<String>,
    /// Margin in radians (EC, RCME).
    pub margin: f64,
    /// Where it stands (EC).
    pub margin_side: MarginSide,
    /// What angles start from (RCME).
    pub root_mode: RootMode,
    /// Weight of the global order (RCME).
    pub global: f64,
    /// Weight of the local order (RCME).
    pub local: f64,
    /// Weight of the contrast with pictures: 1 from OpenCLIP weights, 0.1 from BioCLIP's (RCME).
    pub beta: f64,
    /// Weight of a pull-back in place of the contrast (RCME's ablation).
    pub prior: f64,
    /// Weight of the distances of the centroids to their radii (ATMG).
    pub centroid: f64,
    /// What the angle at a picture should be (ATMG).
    pub image_apex: ImageApex,
    /// Space (visual hierarchies).
    pub parts_space: PartsSpace,
}
