//! Sizes that figures have in common, in points at 360 points a column.

/// Size of most texts: 7 points where the figure is printed a column (89 mm) wide.
pub const BODY: f64 = 10.0;

/// Size of secondary texts.
pub const SMALL: f64 = 9.0;

/// Width of a figure of one column.
pub const COLUMN: f64 = 360.0;
