//! Exterior angles of many apexes against many points, from one matrix product.
//!
//! `oxy(x, y)` (notation 1.1) and `Xi_r(e, f)` (notation 1.4) depend on the two points only through
//! their dot product and per-point scalars, so a row of dot products yields a row of angles.

use espalier_core::geometry::Space;

use super::rows::dots;
use crate::Points;

/// Per-point scalars that the angle needs besides the dot product.
#[derive(Clone, Copy, Debug)]
struct PointScalars {
    /// `<x, x>`.
    squares: f64,
    /// `<x, r>` with the root; 0 where the root is the origin.
    to_root: f64,
}

fn point_scalars(space: &Space, x: &[f32]) -> PointScalars {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        let products = a.iter().zip(b).map(|(p, q)| f64::from(*p) * f64::from(*q));
        products.sum()
    };
    let to_root = match space {
        Space::Sphere { root } => dot(x, root),
        _ => 0.0,
    };
    PointScalars {
        squares: dot(x, x),
        to_root,
    }
}

/// `atan2` of the legs; a right angle if both are 0.
fn angle(along: f64, across: f64) -> f64 {
    if along == 0.0 && across == 0.0 {
        std::f64::consts::FRAC_PI_2
    } else {
        across.atan2(along)
    }
}

/// Returns the exterior angle at `x` toward `y` from their dot product.
fn from_dot(space: &Space, x: PointScalars, y: PointScalars, dot: f64) -> f64 {
    match space {
        Space::Lorentz { curvature: c } => {
            let time = |p: PointScalars| (1.0 / c + p.squares).sqrt();
            let along = c.sqrt() * (time(x) * dot - time(y) * x.squares);
            let across = x.squares * y.squares - dot * dot;
            angle(along, across.max(0.0).sqrt())
        }
        _ => {
            // a = x - r, b = y - x; |r| is 1.
            let along = dot - x.squares - y.to_root + x.to_root;
            let a = x.squares - 2.0 * x.to_root + 1.0;
            let b = y.squares - 2.0 * dot + x.squares;
            angle(along, (a * b - along * along).max(0.0).sqrt())
        }
    }
}

/// Calls `visit` with each apex's row of exterior angles toward the whole gallery, in `[0, pi]`,
/// and collects its results.
///
/// # Shapes
/// `apexes` `[q, d]`, `gallery` `[g, d]`; `visit` gets the apex's index and `[g]` angles.
pub fn angles<T: Send>(
    space: &Space,
    apexes: &Points,
    gallery: &Points,
    visit: impl Fn(usize, &[f64]) -> T + Sync,
) -> Vec<T> {
    // A product averages the angles of its factors, so no single dot product determines it.
    if let Space::Product { .. } = space {
        let visit_exact = |at: usize| -> T {
            let row = gallery
                .rows()
                .map(|y| space.exterior_angle(apexes.row(at), y));
            visit(at, &row.collect::<Vec<f64>>())
        };
        use rayon::prelude::*;
        return (0..apexes.len()).into_par_iter().map(visit_exact).collect();
    }
    let of = |points: &Points| -> Vec<PointScalars> {
        points.rows().map(|x| point_scalars(space, x)).collect()
    };
    let (xs, ys) = (of(apexes), of(gallery));
    dots(apexes, gallery, |at, row| {
        let angles = row.iter().zip(&ys);
        let angles = angles.map(|(dot, y)| from_dot(space, xs[at], *y, f64::from(*dot)));
        visit(at, &angles.collect::<Vec<f64>>())
    })
}

#[cfg(test)]
mod tests {
    use espalier_core::geometry::DistanceReduction;

    use super::*;

    #[test]
    fn angles_from_products_are_those_of_the_space() {
        let unit = |v: [f32; 4]| {
            let n = v.iter().map(|a| a * a).sum::<f32>().sqrt();
            v.map(|a| a / n)
        };
        let points = [
            unit([1.0, 0.3, -0.2, 0.5]),
            unit([0.2, -0.9, 0.4, 0.1]),
            unit([-0.5, 0.2, 0.8, 0.3]),
        ];
        let points = Points::new(4, points.concat());
        for space in [
            Space::Sphere {
                root: vec![1.0, 0.0, 0.0, 0.0],
            },
            Space::Lorentz { curvature: 0.6 },
            Space::Product {
                curvatures: vec![0.5, 2.0],
                join: DistanceReduction::L2,
            },
        ] {
            let rows = angles(&space, &points, &points, |_, row| row.to_vec());
            for (i, row) in rows.iter().enumerate() {
                for (j, found) in row.iter().enumerate().filter(|(j, _)| *j != i) {
                    let known = space.exterior_angle(points.row(i), points.row(j));
                    assert!((found - known).abs() < 1e-5, "{space:?}: {found} {known}");
                }
            }
        }
    }
}
