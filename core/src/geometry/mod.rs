//! Points, distances, cones.
//!
//! Conventions:
//!
//! * A point of the Lorentz model is its **space part** only, `x` in `R^d`; the time part
//!   `x0 = sqrt(1/c + |x|^2)` is recomputed where it is needed (notation 1.1).
//! * `c > 0` is *minus* the sectional curvature. Functions take it as a tensor that broadcasts
//!   against `[.., 1]`, so that one curvature (`[1, 1]`) and one per factor (`[k, 1, 1]`) are the
//!   same code.
//! * Functions with plain names work row by row and return `[.., 1]`; `pairwise_*` return
//!   `[.., b1, b2]`, with rows for the first argument.
//! * The apex of a cone is the **first** argument and the more general item.
//!
//! [`Space`] has the same geometry on plain slices, for ranking texts without a device.
//!
//! ```
//! use espalier_core::geometry::Space;
//!
//! // Space parts of points of the Lorentz model with curvature -1.
//! let space = Space::Lorentz { curvature: 1.0 };
//! let (animal, dog, table) = ([0.4_f32, 0.0], [1.5_f32, 0.1], [-0.2_f32, 1.5]);
//! // A general concept lies near the root, and its cone holds the specific ones.
//! assert!(space.radius(&animal) < space.radius(&dog));
//! assert!(space.exterior_angle(&animal, &dog) < space.half_aperture(&animal));
//! assert!(space.entails(&animal, &dog));
//! assert!(!space.entails(&animal, &table));
//! ```
//!
//! [`poincare`] has the Poincaré ball, in which hyperbolic space is drawn.

#[cfg(feature = "burn")]
mod angle;
#[cfg(feature = "burn")]
pub mod cone;
mod constants;
#[cfg(feature = "burn")]
pub mod curvature;
pub mod interpolation;
#[cfg(feature = "burn")]
pub mod lorentz;
pub mod poincare;
#[cfg(feature = "burn")]
pub mod product;
pub mod prototype;
#[cfg(feature = "burn")]
pub mod radial;
pub mod space;

#[cfg(feature = "burn")]
pub use cone::{AngleFormula, entailment_gap, exterior_angle, half_aperture};
pub use constants::{CONE_RADIUS, EPS, MAX_TANGENT, MIN_RADIUS};
#[cfg(feature = "burn")]
pub use curvature::{Curvature, LogScalar, LogScalarConfig};
pub use space::{DistanceReduction, Space};
