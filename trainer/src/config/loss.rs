//! `[loss]`: weights and variants of the methods.

use espalier_core::geometry::{AngleFormula, DistanceReduction};
use espalier_core::loss::{ImageApex, MarginSide, RootMode};
use serde::{Deserialize, Serialize};

/// Root of the chains (RE's ablations).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RootKind {
    /// The embedding of the root's text by the text encoder in training.
    Text,
    /// The embedding of that text by the text encoder before training.
    Frozen,
    /// The zero vector.
    Zero,
}

/// Space of visual hierarchies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartsSpace {
    /// The Lorentz model.
    Lorentz,
    /// Euclidean space, with angles measured at the origin.
    Euclidean,
}

/// How the angles of entailment cones are computed (MERU, HyCoCLIP, PHyCLIP).
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
    /// Returns the angle formula of this name.
    #[must_use]
    pub fn formula(self) -> AngleFormula {
        match self {
            Self::Stable => AngleFormula::Stable,
            Self::Literal => AngleFormula::Literal(1e-8),
            Self::LiteralPhyclip => AngleFormula::Literal(1e-6),
        }
    }
}

/// `[loss]`: weights and variants of the methods. Each method reads only its own keys
/// (`docs/methods.md`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LossConfig {
    /// Weight of the entailment loss (MERU, HyCoCLIP, PHyCLIP).
    pub entail: f64,
    /// How cone angles are computed (MERU, HyCoCLIP, PHyCLIP).
    pub angles: Angles,
    /// Cone width factor between modalities (HyCoCLIP, PHyCLIP).
    pub eta_inter: f64,
    /// Cone width factor between box and whole image (HyCoCLIP, PHyCLIP).
    pub eta_intra: f64,
    /// Whether boxes and their phrases are used as additional pairs (CLIP, MERU).
    pub boxes_as_pairs: bool,
    /// Number of factors of the product; 0 for factors of eight coordinates each (PHyCLIP).
    pub factors: usize,
    /// How the distances in the factors are combined (PHyCLIP).
    pub join: DistanceReduction,
    /// Weight of the contrast of images with the texts of all labels (CLIP, MERU, HyCoCLIP,
    /// PHyCLIP).
    pub labels: f64,
    /// Fraction of the target of `labels` that goes to labels nearby in the taxonomy.
    pub label_smoothing: f64,
    /// Weight of the distillation of the classifier that was imported with the image encoder; 0 for
    /// none. Needs cached features.
    pub distill: f64,
    /// Weight of the term that pulls label texts toward the directions of the classifier's rows in
    /// the embedding space.
    #[serde(default)]
    pub anchor: f64,
    /// Weight of the distance of all texts of a step from the directions that `model.text_teacher` gives
    /// them.
    #[serde(default)]
    pub text_teacher: f64,
    /// Weight of the variance of the logarithmic radii of captions (MERU, HyCoCLIP, PHyCLIP). A caption
    /// nearer to the root than the others is the nearest one of too many images.
    #[serde(default)]
    pub caption_radius: f64,
    /// Temperature of the classifier's probabilities, above 0.
    pub distill_temperature: f64,
    /// Number of labels per step over which the probabilities are compared; 0 for all.
    pub distill_labels: usize,
    /// Weight of the synthetic outlier images: every branch of the taxonomy must be unlikely for
    /// them (Outlier Exposure).
    pub outliers: f64,
    /// Weight of the contrast of nouns with the taxonomy nodes that they belong to (CLIP, MERU,
    /// HyCoCLIP, PHyCLIP, ATMG).
    #[serde(default)]
    pub nouns: f64,
    /// Weight of the deviation of the nouns' radii from the radii that fit their generality (MERU,
    /// HyCoCLIP, PHyCLIP).
    #[serde(default)]
    pub generality: f64,
    /// Weight of the term that orders the radii of texts along taxonomy paths (MERU, HyCoCLIP,
    /// PHyCLIP).
    pub order: f64,
    /// Weight of the term that keeps texts near the text encoder before training (RE, EC).
    pub pull_back: f64,
    /// Weight of the mined hard pairs (RE, EC).
    pub mined: f64,
    /// Weight of the negatives (RE, EC).
    pub negatives: f64,
    /// Root of the chains (RE, EC).
    pub root: RootKind,
    /// Text of the root, in place of the method's own: the empty text for RE and EC, `Eukarya` for
    /// RCME.
    pub root_text: Option<String>,
    /// Margin in radians (EC, RCME).
    pub margin: f64,
    /// Position of the margin in the hinge (EC).
    pub margin_side: MarginSide,
    /// Point that the first leg of an angle is measured from (RCME).
    pub root_mode: RootMode,
    /// Weight of the global order (RCME).
    pub global: f64,
    /// Weight of the local order (RCME).
    pub local: f64,
    /// Weight of the contrast with images: 1 when starting from OpenCLIP weights, 0.1 from BioCLIP
    /// weights (RCME).
    pub beta: f64,
    /// Weight of a pull-back to the weights before training, in place of the contrast (RCME's
    /// ablation).
    pub prior: f64,
    /// Weight of the term that pulls the centroids to their target radii (ATMG).
    pub centroid: f64,
    /// Whether the angle at an image is maximised or minimised (ATMG).
    pub image_apex: ImageApex,
    /// Space of visual hierarchies (`parts`).
    pub parts_space: PartsSpace,
}

impl LossConfig {
    /// Returns the weights, which must be finite and 0 or more, with their keys.
    pub(super) fn weights(&self) -> [(&'static str, f64); 14] {
        [
            ("loss.entail", self.entail),
            ("loss.anchor", self.anchor),
            ("loss.caption_radius", self.caption_radius),
            ("loss.text_teacher", self.text_teacher),
            ("loss.nouns", self.nouns),
            ("loss.generality", self.generality),
            ("loss.pull_back", self.pull_back),
            ("loss.mined", self.mined),
            ("loss.negatives", self.negatives),
            ("loss.global", self.global),
            ("loss.local", self.local),
            ("loss.beta", self.beta),
            ("loss.prior", self.prior),
            ("loss.centroid", self.centroid),
        ]
    }

    /// Returns the widths of cones, which must be finite and above 0, with their keys.
    pub(super) fn widths(&self) -> [(&'static str, f64); 2] {
        [
            ("loss.eta_inter", self.eta_inter),
            ("loss.eta_intra", self.eta_intra),
        ]
    }
}
