//! Coordinates in which a score is a dot product.
//!
//! The Lorentzian inner product of two points is `<x, y> - x0 y0` (notation 1.1). Appending the
//! time coordinate `x0` to one side and `-y0` to the other turns it into one dot product. A product
//! of factors (notation 1.6) appends one time coordinate per factor.

use std::borrow::Cow;

use espalier_core::geometry::Space;

use crate::Points;

/// Side of the dot product that points are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The time coordinate as it is.
    Query,
    /// The time coordinate negated.
    Gallery,
}

/// Returns the curvatures of a space's factors, each of which has a time coordinate.
pub fn curvatures(space: &Space) -> &[f64] {
    match space {
        Space::Sphere { .. } => &[],
        Space::Lorentz { curvature } => std::slice::from_ref(curvature),
        Space::Product { curvatures, .. } => curvatures,
    }
}

/// Appends to `out` one row of coordinates for each of `rows`, points of width `width`.
///
/// # Shapes
/// `[n, width] -> [n, width + factors]`, with one of `curvatures` for each factor.
pub fn append(curvatures: &[f64], side: Side, rows: &[f32], width: usize, out: &mut Vec<f32>) {
    if curvatures.is_empty() {
        out.extend_from_slice(rows);
        return;
    }
    let sign = match side {
        Side::Query => 1.0,
        Side::Gallery => -1.0,
    };
    let factor = (width / curvatures.len()).max(1);
    for row in rows.chunks_exact(width.max(1)) {
        out.extend_from_slice(row);
        out.extend(curvatures.iter().zip(row.chunks(factor)).map(|(c, x)| {
            let squares: f64 = x.iter().map(|v| f64::from(*v) * f64::from(*v)).sum();
            (sign * (1.0 / c + squares).sqrt()) as f32
        }));
    }
}

/// Returns the coordinates of a whole gallery; without time coordinates, the points themselves.
pub fn gallery<'a>(curvatures: &[f64], points: &'a Points) -> Cow<'a, Points> {
    if curvatures.is_empty() {
        return Cow::Borrowed(points);
    }
    let (rows, width) = (points.data(), points.width() + curvatures.len());
    let mut out = Vec::with_capacity(points.len() * width);
    append(curvatures, Side::Gallery, rows, points.width(), &mut out);
    Cow::Owned(Points::new(width, out))
}

#[cfg(test)]
mod tests {
    use espalier_core::geometry::DistanceReduction;

    use super::*;

    #[test]
    fn the_dot_product_of_coordinates_is_the_score() {
        let (x, y) = ([0.3_f32, -0.2, 0.5, 0.1], [0.7_f32, 0.4, -0.1, 0.9]);
        let root = vec![1.0, 0.0, 0.0, 0.0];
        for space in [
            Space::Sphere { root },
            Space::Lorentz { curvature: 0.4 },
            Space::Product {
                curvatures: vec![0.5, 2.0],
                join: DistanceReduction::L1,
            },
        ] {
            let (mut a, mut b) = (Vec::new(), Vec::new());
            append(curvatures(&space), Side::Query, &x, 4, &mut a);
            append(curvatures(&space), Side::Gallery, &y, 4, &mut b);
            assert_eq!(a.len(), 4 + curvatures(&space).len());
            let dot: f64 = a.iter().zip(&b).map(|(p, q)| f64::from(p * q)).sum();
            assert!((dot - space.score(&x, &y)).abs() < 1e-6, "{space:?}");
        }
    }
}
