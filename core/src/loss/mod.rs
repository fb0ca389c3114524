//! What is trained: each loss gives its total and its named terms.

pub mod clip;
pub mod contrastive;
pub mod hycoclip;
pub mod terms;

pub use clip::clip;
pub use contrastive::{contrastive, cross_entropy_diagonal};
pub use hycoclip::{ENTAIL_WEIGHT, HycoclipPoints, hycoclip};
pub use terms::LossTerms;
