//! The image and text encoders, and the lift of their features into the embedding space.

pub mod classifier;
pub mod config;
pub mod dual;
pub mod lift;
pub mod preset;
pub mod text;
mod validate;
pub mod vision;

pub use classifier::Classifier;
pub use config::{DualConfig, LiftKind, Pool, Positions, TextConfig, VitConfig};
pub use dual::{DualEncoder, ImageEncoder, TextEncoder};
pub use lift::Lift;
pub use preset::Preset;
pub use text::{TextBackbone, Tokens, end_position};
pub use vision::VisionBackbone;
