//! Projections from many dimensions to a disk that can be drawn.
//!
//! - [`pca`]: the directions of largest variance, a starting point for the other methods.
//! - [`horopca()`]: principal components of hyperbolic space; exact on geodesics.
//! - [`disk`]: a fast projection for any space: it keeps radii exactly and reduces directions to
//!   two principal axes.
//! - [`cosne()`]: keeps neighbourhoods and, approximately, radii.
//!
//! Pure functions of `f64`; random values, where needed, are arguments.

pub mod cosne;
pub mod disk;
pub mod horopca;
pub mod pca;

pub use cosne::{CoSne, cosne};
pub use disk::Disk;
pub use horopca::{HoroPca, horopca};
