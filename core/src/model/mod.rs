//! The image and text encoders, and the lift of their features into the embedding space.

#[cfg(feature = "burn")]
pub mod classifier;
pub mod config;
#[cfg(feature = "burn")]
pub mod dual;
pub mod feature_map;
#[cfg(feature = "burn")]
pub mod lift;
pub mod point_lift;
pub mod preset;
#[cfg(feature = "burn")]
pub mod text;
mod validate;
#[cfg(feature = "burn")]
pub mod vision;

#[cfg(feature = "burn")]
pub use classifier::Classifier;
pub use config::{
    Arithmetic, DualConfig, LiftKind, Pool, Positions, TextConfig, TextFamily, VitConfig,
};
#[cfg(feature = "burn")]
pub use dual::{DualEncoder, ImageEncoder, ImageModel, TextEncoder, TextModel};
pub use feature_map::FeatureMap;
#[cfg(feature = "burn")]
pub use lift::Lift;
pub use point_lift::{Modality, PointLift};
pub use preset::Preset;
#[cfg(feature = "burn")]
pub use text::{TextBackbone, Tokens};
#[cfg(feature = "burn")]
pub use vision::VisionBackbone;
