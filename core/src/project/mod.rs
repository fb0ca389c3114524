//! From many dimensions to a disk that can be looked at.
//!
//! - [`pca`]: the directions of largest variance, a starting point for what follows.
//! - [`horopca()`]: principal components of hyperbolic space; exact on geodesics.
//! - [`disk`]: points of any space in a disk, quickly: radii as they are, directions as two axes say.
//! - [`cosne()`]: neighbours stay neighbours and radii stay radii.
//!
//! Pure functions of `f64`: chance, where there is any, comes in as an argument.

pub mod cosne;
pub mod disk;
pub mod horopca;
pub mod pca;

pub use cosne::{CoSne, cosne};
pub use disk::Disk;
pub use horopca::{HoroPca, horopca};
