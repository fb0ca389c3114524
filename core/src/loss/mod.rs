//! Training losses. Each returns its total and its named terms.

pub mod atmg;
pub mod clip;
pub mod contrastive;
pub mod hycoclip;
pub mod labels;
pub mod meru;
pub mod order;
pub mod parts;
pub mod phyclip;
pub mod radial;
pub mod rcme;
pub mod terms;

pub use atmg::{ImageApex, atmg};
pub use clip::clip;
pub use contrastive::{contrastive, cross_entropy_diagonal};
pub use hycoclip::{ENTAIL_WEIGHT, HycoclipPoints, HycoclipWeights, hycoclip};
pub use labels::label_contrast;
pub use meru::meru;
pub use order::{ORDER_MARGIN, radial_generality, radial_order};
pub use parts::{Relations, parts, parts_euclidean};
pub use phyclip::phyclip;
pub use radial::{Chains, MarginSide, PairTerm, RadialWeights, radial};
pub use rcme::{Lineages, RcmeWeights, RootMode, rcme};
pub use terms::LossTerms;
