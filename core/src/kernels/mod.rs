//! Fast inference of image encoders on a CPU, as plain functions over slices.
//!
//! A backend evaluates a network operation by operation. Here a convolution is computed together
//! with its bias, its non-linearity and the residual after it, on pixels that are stored channel by
//! channel (height, width, channels), with weights that were arranged once. The instruction set is
//! chosen at run time by [`pulp`]: AVX2 with fused multiply-add, NEON, WebAssembly SIMD, or scalar
//! code.
//!
//! [`InvertedEncoder`] is built from an encoder of inverted residuals and returns the same features
//! up to rounding.

mod activation;
mod depthwise;
mod encoder;
mod patches;
mod product;

pub use activation::Activation;
pub use depthwise::Depthwise;
pub use encoder::InvertedEncoder;
pub use patches::Patches;
pub use product::PackedWeights;
