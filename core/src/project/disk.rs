//! Projection of points of any embedding space into the Poincaré disk, fast enough for a browser.
//!
//! The distance of a point to the centre is proportional to its distance to the root, so the order
//! from general to specific is kept exactly. Its direction is reduced to two dimensions. All texts
//! of a model share one direction; it does not distinguish them and would press them into a wedge.
//! So this direction is removed, and the two axes are the principal axes of the rest.

use super::pca::axes;
use crate::geometry::Space;
use crate::geometry::poincare::{dot, exp0, from_lorentz, log0};

/// A projection from a space into a disk.
#[derive(Clone, Debug)]
pub struct Disk {
    /// Unit vector of the direction that all points share; zeros if there is none.
    shared: Vec<f64>,
    /// Orthonormal axes of the disk.
    axes: [Vec<f64>; 2],
    /// Factor for distances.
    zoom: f64,
    /// Fraction of the variation between the points (squared lengths of tangent vectors without the
    /// shared direction) that the two axes explain, in `[0, 1]`.
    pub explained: f64,
}

/// Returns the tangent vector at the root toward a point, as long as its distance. For a product
/// these are the tangent vectors of the factors, concatenated; for the sphere it is the chord from
/// the root.
fn tangent(space: &Space, x: &[f32]) -> Vec<f64> {
    match space {
        Space::Sphere { root } => x.iter().zip(root).map(|(a, r)| f64::from(a - r)).collect(),
        _ => {
            let points = space.split(x).map(|(c, x)| from_lorentz(x, c));
            points.flat_map(|p| log0(&p)).collect()
        }
    }
}

/// Returns the length of a vector.
fn norm(v: &[f64]) -> f64 {
    dot(v, v).sqrt()
}

/// Returns a vector without its component along a unit vector.
fn without(mut v: Vec<f64>, unit: &[f64]) -> Vec<f64> {
    let along = dot(&v, unit);
    v.iter_mut().zip(unit).for_each(|(v, u)| *v -= along * u);
    v
}

impl Disk {
    /// Finds the disk whose axes separate the directions of some points best.
    ///
    /// Distances are scaled so that the farthest of the points has the distance `reach` to the
    /// centre.
    #[must_use]
    pub fn fit(space: &Space, points: &[&[f32]], reach: f64) -> Self {
        let tangents: Vec<Vec<f64>> = points.iter().map(|x| tangent(space, x)).collect();
        let width = tangents.first().map_or(2, Vec::len);
        let farthest = tangents.iter().map(|v| norm(v)).fold(0.0, f64::max);
        let mut shared = vec![0.0; width];
        for v in &tangents {
            shared.iter_mut().zip(v).for_each(|(s, v)| *s += v);
        }
        let length = norm(&shared);
        // If the points lie all around the root, they share no direction.
        let unit = if length > 1e-9 { length.recip() } else { 0.0 };
        shared.iter_mut().for_each(|s| *s *= unit);
        let residuals: Vec<Vec<f64>> = tangents.into_iter().map(|v| without(v, &shared)).collect();
        let axes = axes(&residuals);
        let power = |of: &dyn Fn(&Vec<f64>) -> f64| residuals.iter().map(of).sum::<f64>();
        let all = power(&|v| dot(v, v));
        let explained = power(&|v| axes.iter().map(|axis| dot(v, axis).powi(2)).sum());
        Self {
            shared,
            axes,
            zoom: if farthest > 1e-9 {
                reach / farthest
            } else {
                1.0
            },
            explained: if all > 0.0 { explained / all } else { 1.0 },
        }
    }

    /// Returns the position of a point in the disk, of Euclidean norm below 1.
    #[must_use]
    pub fn project(&self, space: &Space, x: &[f32]) -> [f64; 2] {
        let tangent = tangent(space, x);
        let distance = norm(&tangent) * self.zoom;
        let residual = without(tangent, &self.shared);
        let [a, b] = [0, 1].map(|axis| dot(&residual, &self.axes[axis]));
        // A point that has only the shared direction is placed on the first axis.
        let (a, b, length) = match a.hypot(b) {
            length if length > 1e-12 => (a, b, length),
            _ => (1.0, 0.0, 1.0),
        };
        let [x, y] = [a, b].map(|along| along / length * distance);
        let position = exp0(&[x, y]);
        [position[0], position[1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::DistanceReduction;

    fn cloud() -> Vec<Vec<f32>> {
        (0..150_u8)
            .map(|i| {
                let t = f32::from(i) * 0.1;
                vec![
                    0.4 * t.sin(),
                    0.3 * (1.3 * t).cos(),
                    0.01 * t,
                    0.05 * (2.0 * t).sin(),
                ]
            })
            .collect()
    }

    fn spaces() -> [Space; 3] {
        [
            Space::Lorentz { curvature: 0.5 },
            Space::Product {
                curvatures: vec![0.5, 2.0],
                join: DistanceReduction::L1,
            },
            Space::Sphere {
                root: vec![0.0, 0.0, 0.0, 1.0],
            },
        ]
    }

    #[test]
    fn the_root_lies_at_the_centre_of_every_space() {
        let points = cloud();
        let points: Vec<&[f32]> = points.iter().map(Vec::as_slice).collect();
        for space in spaces() {
            let disk = Disk::fit(&space, &points, 2.0);
            let root = match &space {
                Space::Sphere { root } => root.clone(),
                _ => vec![0.0; 4],
            };
            let [x, y] = disk.project(&space, &root);
            assert!(x.hypot(y) < 1e-6, "{space:?}: {x} {y}");
        }
    }

    #[test]
    fn a_point_is_as_far_from_the_centre_as_from_the_root() {
        let points = cloud();
        let points: Vec<&[f32]> = points.iter().map(Vec::as_slice).collect();
        for space in spaces() {
            let disk = Disk::fit(&space, &points, 2.0);
            assert!(
                disk.explained > 0.4 && disk.explained <= 1.0,
                "{space:?}: {}",
                disk.explained
            );
            let distance = |x: &[f32]| norm(&tangent(&space, x));
            let farthest = points.iter().map(|x| distance(x)).fold(0.0, f64::max);
            for x in &points {
                let at = disk.project(&space, x);
                let drawn = norm(&log0(&at));
                assert!(
                    (drawn - 2.0 * distance(x) / farthest).abs() < 1e-6,
                    "{at:?}"
                );
            }
        }
    }

    #[test]
    fn what_all_points_share_does_not_press_them_into_a_wedge() {
        // Four directions, and a component ten times as large that all points share.
        let side = |a: f32, b: f32| vec![a, b, 1.0, 0.0];
        let points = [
            side(0.1, 0.0),
            side(-0.1, 0.0),
            side(0.0, 0.1),
            side(0.0, -0.1),
        ];
        let points: Vec<&[f32]> = points.iter().map(Vec::as_slice).collect();
        let space = Space::Lorentz { curvature: 1.0 };
        let disk = Disk::fit(&space, &points, 2.0);
        let mut angles: Vec<f64> = points
            .iter()
            .map(|x| disk.project(&space, x))
            .map(|[x, y]| y.atan2(x).to_degrees())
            .collect();
        angles.sort_by(f64::total_cmp);
        for pair in angles.windows(2) {
            assert!((pair[1] - pair[0] - 90.0).abs() < 1.0, "{angles:?}");
        }
        assert!(disk.explained > 0.99, "{}", disk.explained);
    }

    #[test]
    fn no_point_at_all_makes_a_disk_too() {
        let disk = Disk::fit(&Space::Lorentz { curvature: 1.0 }, &[], 2.0);
        assert!(disk.project(&Space::Lorentz { curvature: 1.0 }, &[0.1, 0.2])[0].is_finite());
    }
}
