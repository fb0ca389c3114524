//! Exterior angles of many apexes against many points, from one matrix product.
//!
//! `oxy(x, y)` (notation 1.1) and `Xi_r(e, f)` (notation 1.4) depend on the two points only through
//! their dot product and per-point scalars, so a row of dot products yields a row of angles.

use espalier_core::geometry::Space;
use rayon::prelude::*;

use super::rows::dots;
use super::top::{Ranked, best};
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
    PointScalars {
        squares: dot(x, x),
        to_root: match space {
            Space::Sphere { root } => dot(x, root),
            _ => 0.0,
        },
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

/// Side of a pair at which the angle is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Apex {
    /// The query.
    Query,
    /// The item of the gallery.
    Gallery,
}

/// Calls `visit` with each query's row of exterior angles between it and the whole gallery, in `[0, pi]`, and
/// collects its results.
///
/// # Shapes
/// `queries` `[q, d]`, `gallery` `[g, d]`; `visit` gets the query's index and `[g]` angles.
pub fn angles<T: Send>(
    space: &Space,
    queries: &Points,
    gallery: &Points,
    apex: Apex,
    visit: impl Fn(usize, &[f64]) -> T + Sync,
) -> Vec<T> {
    // A product averages the angles of its factors, so no single dot product determines it.
    if let Space::Product { .. } = space {
        let visit_exact = |at: usize| -> T {
            let x = queries.row(at);
            let row = gallery.rows().map(|y| match apex {
                Apex::Query => space.exterior_angle(x, y),
                Apex::Gallery => space.exterior_angle(y, x),
            });
            visit(at, &row.collect::<Vec<f64>>())
        };
        let queries = (0..queries.len()).into_par_iter();
        return queries.map(visit_exact).collect();
    }
    let of = |points: &Points| -> Vec<PointScalars> {
        points.rows().map(|x| point_scalars(space, x)).collect()
    };
    let (xs, ys) = (of(queries), of(gallery));
    dots(queries, gallery, |at, row| {
        let angles = row.iter().zip(&ys).map(|(dot, y)| match apex {
            Apex::Query => from_dot(space, xs[at], *y, f64::from(*dot)),
            Apex::Gallery => from_dot(space, *y, xs[at], f64::from(*dot)),
        });
        visit(at, &angles.collect::<Vec<f64>>())
    })
}

/// Returns the `k` items of `gallery` at the smallest angles to each of `queries`; scores are negative angles.
///
/// # Shapes
/// `queries` `[q, d]`, `gallery` `[g, d]`; at most `k` items per query.
pub fn top_k(space: &Space, queries: &Points, gallery: &Points, apex: Apex, k: usize) -> Ranked {
    let k = k.min(gallery.len());
    let rows: Vec<Vec<(f64, u32)>> = angles(space, queries, gallery, apex, |_, row| {
        let scores: Vec<f64> = row.iter().map(|angle| -angle).collect();
        let order = best(&scores, k).into_iter();
        order.map(|at| (scores[at], at as u32)).collect()
    });
    Ranked::from_rows(k, rows)
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
            let at = |apex| angles(&space, &points, &points, apex, |_, row| row.to_vec());
            let (rows, turned) = (at(Apex::Query), at(Apex::Gallery));
            for (i, row) in rows.iter().enumerate() {
                for (j, found) in row.iter().enumerate().filter(|(j, _)| *j != i) {
                    let known = space.exterior_angle(points.row(i), points.row(j));
                    assert!((found - known).abs() < 1e-5, "{space:?}: {found} {known}");
                    assert!((turned[j][i] - known).abs() < 1e-5, "{space:?}: gallery");
                }
                let ranked = top_k(&space, &points, &points, Apex::Query, 2);
                assert_eq!(ranked.k(), 2);
                let best = row.iter().copied().fold(f64::INFINITY, f64::min);
                assert_eq!(ranked.scores(i)[0], -best);
                assert!(ranked.scores(i)[1] <= ranked.scores(i)[0]);
            }
        }
    }
}
