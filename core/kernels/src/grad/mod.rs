//! Forward and backward passes of training, as plain functions over slices.
//!
//! Sums over rows or images are computed in pieces of a fixed size that are added in their order,
//! so results do not depend on the number of threads.

pub mod adamw;
pub mod attention;
pub mod batch_norm;
pub mod conv;
pub mod depthwise;
pub mod feed_forward;
mod gelu;
pub mod layer_norm;
pub mod linear;
mod matrix;
mod pieces;
pub mod rectify;
pub mod residual;
pub mod squares;
pub mod standardise;
mod strided;
pub mod window;
