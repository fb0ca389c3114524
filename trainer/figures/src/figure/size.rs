//! Sizes shared by all figures, in points at 360 points per column.

/// Size of most texts: 7 points if the figure is printed one column (89 mm) wide.
pub const BODY: f64 = 10.0;

/// Size of secondary texts.
pub const SMALL: f64 = 9.0;

/// Width of a one-column figure.
pub const COLUMN: f64 = 360.0;
