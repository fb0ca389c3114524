//! Layers of the encoders.

#[cfg(feature = "burn")]
pub mod attention;
#[cfg(feature = "burn")]
pub mod batch_norm;
#[cfg(feature = "burn")]
pub mod block;
#[cfg(feature = "burn")]
pub mod conv;
#[cfg(feature = "burn")]
pub mod conv_stem;
#[cfg(feature = "burn")]
pub mod inverted;
pub mod inverted_config;
pub(crate) mod layer_config;
#[cfg(feature = "burn")]
pub mod mlp;
#[cfg(feature = "burn")]
pub mod patch_embed;
pub mod position;
#[cfg(feature = "burn")]
pub mod same_conv;

#[cfg(feature = "burn")]
pub use attention::{Attention, AttentionConfig};
#[cfg(feature = "burn")]
pub use batch_norm::{BatchNorm, BatchStatistics};
#[cfg(feature = "burn")]
pub use block::{Block, BlockConfig};
#[cfg(feature = "burn")]
pub use conv_stem::ConvStem;
#[cfg(feature = "burn")]
pub use inverted::{InvertedResidual, InvertedResiduals};
pub use inverted_config::{InvertedConfig, InvertedStage, Norms};
pub use layer_config::{Activation, StageConfig};
#[cfg(feature = "burn")]
pub use mlp::{Mlp, MlpConfig};
#[cfg(feature = "burn")]
pub use patch_embed::PatchEmbed;
pub use position::sincos_2d;
#[cfg(feature = "burn")]
pub use same_conv::SameConv;
