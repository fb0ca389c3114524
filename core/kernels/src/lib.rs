//! Layers of neural networks on plain slices, for inference on a CPU; with the feature `grad` also
//! their forward and backward passes in training.
//!
//! A backend evaluates a network operation by operation. Here a linear map or convolution is
//! computed together with its bias, its non-linearity and the residual after it, on pixels that are
//! stored channel by channel (height, width, channels), with weights that were arranged once. The
//! instruction set is chosen at run time by [`pulp`]: AVX-512, AVX2 with fused multiply-add, NEON,
//! WebAssembly SIMD, or scalar code; products of bytes have instructions of their own
//! (`instructions.rs`).
//!
//! The package is separate from core, so that a page can build it for speed and all else for size.

mod activation;
mod attention;
mod byte_depthwise;
mod bytes;
mod depthwise;
#[cfg(target_feature = "simd128")]
mod eight;
mod exponential;
mod gelu;
#[cfg(feature = "grad")]
pub mod grad;
mod instructions;
mod interleaved;
mod inverted;
mod lanes;
mod layer_norm;
mod padding;
mod panel;
mod patches;
mod pixels;
mod prefetch;
mod product;
mod quads;
mod scratch;
mod sides;
#[cfg(test)]
mod test_values;
mod threads;
mod vectors;

pub use activation::Activation;
pub use attention::{Heads, Projections};
pub use byte_depthwise::ByteDepthwise;
pub use depthwise::Depthwise;
pub use gelu::Gelu;
pub use inverted::{ByteLayers, Expansion, FloatLayers, InvertedResidual};
pub use layer_norm::RowNorm;
pub use padding::same_padding;
pub use patches::{Padding, Patches};
pub use pixels::{RGB, normalise};
pub use product::{ByteWeights, PackedWeights, ROW_BLOCK};
pub use scratch::Scratch;
pub use sides::Sides;
pub use threads::{map, threads, with_awake_threads};

/// Eight outputs.
#[cfg(target_feature = "simd128")]
use eight::Eight;
/// Eight outputs.
#[cfg(not(target_feature = "simd128"))]
type Eight = [f32; 8];
