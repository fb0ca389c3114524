//! Training losses. Each returns its total and its named terms.
//!
//! ```
//! use burn::tensor::{Device, Tensor};
//! use espalier_core::loss::clip;
//!
//! let device = Device::default();
//! // Two images, each with its own caption, as unit vectors.
//! let images = Tensor::<2>::from_floats([[1.0, 0.0], [0.0, 1.0]], &device);
//! let scale = Tensor::<1>::from_floats([100.0], &device);
//! let matched = clip(images.clone(), images.clone(), scale.clone());
//! let swapped = clip(images.clone(), images.flip([0]), scale);
//! assert!(matched.total.into_scalar::<f32>() < 1e-6);
//! assert!((swapped.total.into_scalar::<f32>() - 100.0).abs() < 1e-3);
//! ```

pub mod atmg;
#[cfg(feature = "autodiff")]
mod blocks;
pub mod clip;
pub mod contrastive;
pub mod groups;
pub mod hycoclip;
pub mod labels;
mod likelihood;
pub mod meru;
pub mod order;
pub mod parts;
pub mod phyclip;
pub mod radial;
pub mod rcme;
pub mod terms;

pub use atmg::{ImageApex, atmg};
pub use clip::clip;
pub use contrastive::Contrast;
pub use groups::Groups;
pub use hycoclip::{ENTAIL_WEIGHT, HycoclipPoints, HycoclipWeights, hycoclip};
pub use labels::label_contrast;
pub use meru::meru;
pub use order::{ORDER_MARGIN, radial_generality, radial_order};
pub use parts::{Relations, parts, parts_euclidean};
pub use phyclip::phyclip;
pub use radial::{Chains, MarginSide, PairTerm, RadialWeights, radial};
pub use rcme::{Lineages, RcmeWeights, RootMode, rcme};
pub use terms::LossTerms;
