//! Layers of the encoders.

pub mod attention;
pub mod batch_norm;
pub mod block;
pub mod conv;
pub mod conv_stem;
pub mod inverted;
pub mod inverted_config;
pub mod mlp;
pub mod patch_embed;
pub mod position;
pub mod same_conv;

pub use attention::{Attention, AttentionConfig};
pub use batch_norm::BatchNorm;
pub use block::{Block, BlockConfig};
pub use conv_stem::{ConvStem, StageConfig};
pub use inverted::{InvertedResidual, InvertedResiduals};
pub use inverted_config::{InvertedConfig, InvertedStage, Norms};
pub use mlp::{Activation, Mlp, MlpConfig};
pub use patch_embed::{PatchEmbed, PatchEmbedConfig};
pub use position::sincos_2d;
pub use same_conv::{SameConv, same_padding};
