//! Transformer parts that both towers share.

pub mod attention;
pub mod block;
pub mod mlp;
pub mod patch_embed;
pub mod position;

pub use attention::{Attention, AttentionConfig};
pub use block::{Block, BlockConfig};
pub use mlp::{Activation, Mlp, MlpConfig};
pub use patch_embed::{PatchEmbed, PatchEmbedConfig};
pub use position::sincos_2d;
