//! Fast inference of the encoders on a CPU, on the layers of [`espalier_kernels`].
//!
//! [`ImageKernels`] and [`TextKernels`] are built from a configuration and named tensors. They return
//! the features of the encoders of [`model`](crate::model) up to rounding.

#[cfg(feature = "burn")]
mod from_model;
mod image_encoder;
mod inverted;
mod stem;
mod text_encoder;
mod transformer;
mod weights;

pub use image_encoder::ImageKernels;
pub use text_encoder::TextKernels;
