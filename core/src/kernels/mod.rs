//! Fast inference of the encoders on a CPU, as plain functions over slices.
//!
//! A backend evaluates a network operation by operation. Here a linear map or convolution is
//! computed together with its bias, its non-linearity and the residual after it, on pixels that are
//! stored channel by channel (height, width, channels), with weights that were arranged once. The
//! instruction set is chosen at run time by [`pulp`]: AVX2 with fused multiply-add, NEON,
//! WebAssembly SIMD, or scalar code.
//!
//! [`ImageKernels`] and [`TextKernels`] are built from the encoders and return the same features up
//! to rounding.

mod activation;
mod attention;
mod depthwise;
mod exponential;
mod gelu;
#[cfg(feature = "flex-ops")]
pub mod grad;
mod image_encoder;
mod inverted;
mod layer_norm;
mod patches;
mod product;
mod stem;
mod text_encoder;
mod threads;
mod transformer;
mod weights;

pub use activation::Activation;
pub use depthwise::{Depthwise, Sides};
pub use gelu::Gelu;
pub use image_encoder::ImageKernels;
pub use layer_norm::RowNorm;
pub use patches::{Padding, Patches};
pub use product::PackedWeights;
pub use text_encoder::TextKernels;
