//! From many dimensions to a disk that can be looked at.
//!
//! - [`pca`]: the directions of largest variance, a starting point for what follows.
//! - [`horopca()`]: principal components of hyperbolic space; exact on geodesics.
//! - [`cosne()`]: neighbours stay neighbours and radii stay radii.
//!
//! Pure functions of `f64`: chance, where there is any, comes in as an argument.

pub mod cosne;
pub mod horopca;
pub mod pca;

pub use cosne::{CoSne, cosne};
pub use horopca::{HoroPca, horopca};
