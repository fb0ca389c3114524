//! Parts that towers are made of.

pub mod attention;
pub mod block;
pub mod conv;
pub mod conv_stem;
pub mod mlp;
pub mod patch_embed;
pub mod position;

pub use attention::{Attention, AttentionConfig};
pub use block::{Block, BlockConfig};
pub use conv_stem::{ConvStem, StageConfig};
pub use mlp::{Activation, Mlp, MlpConfig};
pub use patch_embed::{PatchEmbed, PatchEmbedConfig};
pub use position::sincos_2d;
