//! `[loss]`: weights of the terms that methods share, and the options of each method.

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
    pub fn formula(self) -> AngleFormula {
        match self {
            Self::Stable => AngleFormula::Stable,
            Self::Literal => AngleFormula::Literal(1e-8),
            Self::LiteralPhyclip => AngleFormula::Literal(1e-6),
        }
    }
}

/// `[loss.clip]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClipOptions {
    /// Whether boxes and their phrases are used as additional pairs.
    pub boxes_as_pairs: bool,
}

/// `[loss.meru]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeruOptions {
    /// Weight of the entailment loss.
    pub entail: f64,
    /// How cone angles are computed.
    pub angles: Angles,
    /// Whether boxes and their phrases are used as additional pairs.
    pub boxes_as_pairs: bool,
}

/// `[loss.hycoclip]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HycoclipOptions {
    /// Weight of the entailment loss.
    pub entail: f64,
    /// How cone angles are computed.
    pub angles: Angles,
    /// Cone width factor between modalities.
    pub eta_inter: f64,
    /// Cone width factor between box and whole image.
    pub eta_intra: f64,
}

/// `[loss.phyclip]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhyclipOptions {
    /// Weight of the entailment loss.
    pub entail: f64,
    /// How cone angles are computed.
    pub angles: Angles,
    /// Cone width factor between modalities.
    pub eta_inter: f64,
    /// Cone width factor between box and whole image.
    pub eta_intra: f64,
    /// Number of factors of the product; 0 for factors of eight coordinates each.
    pub factors: usize,
    /// How the distances in the factors are combined.
    pub join: DistanceReduction,
}

/// `[loss.re]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReOptions {
    /// Weight of the term that keeps texts near the text encoder before training.
    pub pull_back: f64,
    /// Weight of the mined hard pairs.
    pub mined: f64,
    /// Weight of the negatives.
    pub negatives: f64,
    /// Root of the chains.
    pub root: RootKind,
    /// Text of the root.
    pub root_text: String,
}

/// `[loss.ec]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EcOptions {
    /// Weight of the term that keeps texts near the text encoder before training.
    pub pull_back: f64,
    /// Weight of the mined hard pairs.
    pub mined: f64,
    /// Weight of the negatives.
    pub negatives: f64,
    /// Root of the chains.
    pub root: RootKind,
    /// Text of the root.
    pub root_text: String,
    /// Margin in radians.
    pub margin: f64,
    /// Position of the margin in the hinge.
    pub margin_side: MarginSide,
}

/// `[loss.rcme]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RcmeOptions {
    /// Text of the root.
    pub root_text: String,
    /// Point that the first leg of an angle is measured from.
    pub root_mode: RootMode,
    /// Margin in radians.
    pub margin: f64,
    /// Weight of the global order.
    pub global: f64,
    /// Weight of the local order.
    pub local: f64,
    /// Weight of the contrast with images: 1 when starting from OpenCLIP weights, 0.1 from BioCLIP
    /// weights.
    pub beta: f64,
    /// Weight of a pull-back to the weights before training, in place of the contrast (an ablation of
    /// the paper).
    pub prior: f64,
}

/// `[loss.atmg]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AtmgOptions {
    /// Weight of the term that pulls the centroids to their target radii.
    pub centroid: f64,
    /// Whether the angle at an image is maximised or minimised.
    pub image_apex: ImageApex,
}

/// `[loss.parts]`: visual hierarchies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartsOptions {
    /// Space of the embeddings.
    pub space: PartsSpace,
}

/// `[loss]`: the terms that several methods can add, and a table of options for each method
/// (`docs/methods.md`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LossConfig {
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
    pub anchor: f64,
    /// Weight of the distance of all texts of a step from the directions that `model.text_teacher` gives
    /// them.
    pub text_teacher: f64,
    /// Weight of the variance of the logarithmic radii of captions (MERU, HyCoCLIP, PHyCLIP). A caption
    /// nearer to the root than the others is the nearest one of too many images.
    pub caption_radius: f64,
    /// Temperature of the classifier's probabilities, above 0.
    pub distill_temperature: f64,
    /// Number of labels per step over which the probabilities are compared; 0 for all.
    pub distill_labels: usize,
    /// Weight of the synthetic outlier images: every branch of the taxonomy must be unlikely for
    /// them (Outlier Exposure).
    pub outliers: f64,
    /// Weight of the contrast of nouns with the taxonomy nodes that they belong to (CLIP, MERU,
    /// HyCoCLIP, PHyCLIP).
    pub nouns: f64,
    /// Weight of the deviation of the nouns' radii from the radii that fit their generality (MERU,
    /// HyCoCLIP, PHyCLIP).
    pub generality: f64,
    /// Weight of the term that orders the radii of texts along taxonomy paths (MERU, HyCoCLIP,
    /// PHyCLIP).
    pub order: f64,
    /// Options of `clip`.
    pub clip: ClipOptions,
    /// Options of `meru`.
    pub meru: MeruOptions,
    /// Options of `hycoclip`.
    pub hycoclip: HycoclipOptions,
    /// Options of `phyclip`.
    pub phyclip: PhyclipOptions,
    /// Options of `re`.
    pub re: ReOptions,
    /// Options of `ec`.
    pub ec: EcOptions,
    /// Options of `rcme`.
    pub rcme: RcmeOptions,
    /// Options of `atmg`.
    pub atmg: AtmgOptions,
    /// Options of `parts`.
    pub parts: PartsOptions,
}

impl LossConfig {
    /// Returns the weights, which must be finite and 0 or more, with their keys.
    pub(super) fn weights(&self) -> [(&'static str, f64); 20] {
        let (re, ec, rcme) = (&self.re, &self.ec, &self.rcme);
        [
            ("loss.anchor", self.anchor),
            ("loss.caption_radius", self.caption_radius),
            ("loss.text_teacher", self.text_teacher),
            ("loss.nouns", self.nouns),
            ("loss.generality", self.generality),
            ("loss.meru.entail", self.meru.entail),
            ("loss.hycoclip.entail", self.hycoclip.entail),
            ("loss.phyclip.entail", self.phyclip.entail),
            ("loss.re.pull_back", re.pull_back),
            ("loss.re.mined", re.mined),
            ("loss.re.negatives", re.negatives),
            ("loss.ec.pull_back", ec.pull_back),
            ("loss.ec.mined", ec.mined),
            ("loss.ec.negatives", ec.negatives),
            ("loss.rcme.global", rcme.global),
            ("loss.rcme.local", rcme.local),
            ("loss.rcme.beta", rcme.beta),
            ("loss.rcme.prior", rcme.prior),
            ("loss.atmg.centroid", self.atmg.centroid),
            ("loss.order", self.order),
        ]
    }

    /// Returns the widths of cones, which must be finite and above 0, with their keys.
    pub(super) fn widths(&self) -> [(&'static str, f64); 4] {
        [
            ("loss.hycoclip.eta_inter", self.hycoclip.eta_inter),
            ("loss.hycoclip.eta_intra", self.hycoclip.eta_intra),
            ("loss.phyclip.eta_inter", self.phyclip.eta_inter),
            ("loss.phyclip.eta_intra", self.phyclip.eta_intra),
        ]
    }

    /// Returns the margins in radians, with their keys.
    pub(super) fn margins(&self) -> [(&'static str, f64); 2] {
        [
            ("loss.ec.margin", self.ec.margin),
            ("loss.rcme.margin", self.rcme.margin),
        ]
    }
}
