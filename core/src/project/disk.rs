//! Points of any embedding space in the Poincaré disk, few enough of them at a time for a browser.
//!
//! The principal components are found on a sample, because their search looks at all pairs; any
//! number of points is then put where the components say, each on its own.

use super::horopca::horopca;
use crate::geometry::Space;
use crate::geometry::poincare::{exp0, from_lorentz, log0};

/// Points that the components are found on at most.
pub const SAMPLE: usize = 72;

/// A disk that points of a space can be put into.
#[derive(Clone, Debug)]
pub struct Disk {
    components: [Vec<f64>; 2],
    /// Distances are multiplied by this before they are drawn.
    zoom: f64,
    /// Share of the sample's mean squared distance that the disk keeps, in `[0, 1]`.
    pub kept: f64,
}

/// A point of a space in the ball of its own width, the root at the centre: exact for one
/// hyperboloid; for a product and for the sphere the tangent vector at the root, as long as the
/// distance to it.
#[must_use]
pub fn ball(space: &Space, x: &[f32]) -> Vec<f64> {
    match space {
        Space::Lorentz { curvature } => from_lorentz(x, *curvature),
        Space::Product { curvatures, .. } => {
            let width = (x.len() / curvatures.len().max(1)).max(1);
            let each = x.chunks(width).zip(curvatures);
            exp0(
                &each
                    .flat_map(|(x, c)| log0(&from_lorentz(x, *c)))
                    .collect::<Vec<f64>>(),
            )
        }
        Space::Sphere { root } => {
            let wide: Vec<f64> = x.iter().zip(root).map(|(a, r)| f64::from(a - r)).collect();
            exp0(&wide)
        }
    }
}

/// A point with its distance to the centre multiplied.
fn zoomed(p: &[f64], by: f64) -> Vec<f64> {
    exp0(&log0(p).iter().map(|v| v * by).collect::<Vec<f64>>())
}

impl Disk {
    /// Find the disk that keeps most of the distances between some points and the root.
    ///
    /// Distances are enlarged so that the farthest of the points is `reach` away from the centre.
    #[must_use]
    pub fn find(space: &Space, points: &[&[f32]], reach: f64) -> Self {
        let every = points.len().div_ceil(SAMPLE).max(1);
        let mut sample: Vec<Vec<f64>> = points
            .iter()
            .step_by(every)
            .map(|x| ball(space, x))
            .collect();
        let width = sample.first().map_or(2, Vec::len);
        let far = |p: &Vec<f64>| log0(p).iter().map(|v| v * v).sum::<f64>().sqrt();
        let farthest = sample.iter().map(far).fold(0.0, f64::max);
        let zoom = if farthest > 1e-9 {
            reach / farthest
        } else {
            1.0
        };
        sample = sample.iter().map(|p| zoomed(p, zoom)).collect();
        sample.push(vec![0.0; width]);
        let found = horopca(&sample);
        Self {
            components: found.components,
            zoom,
            kept: found.kept,
        }
    }

    /// Where a point lies in the disk, of Euclidean norm below 1.
    #[must_use]
    pub fn put(&self, space: &Space, x: &[f32]) -> [f64; 2] {
        super::horopca::put(&zoomed(&ball(space, x), self.zoom), &self.components)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Join;

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
                join: Join::L1,
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
            let disk = Disk::find(&space, &points, 2.0);
            let root = match &space {
                Space::Sphere { root } => root.clone(),
                _ => vec![0.0; 4],
            };
            let [x, y] = disk.put(&space, &root);
            assert!(x.hypot(y) < 1e-6, "{space:?}: {x} {y}");
        }
    }

    #[test]
    fn every_point_lies_inside_and_most_of_the_distances_are_kept() {
        let points = cloud();
        let points: Vec<&[f32]> = points.iter().map(Vec::as_slice).collect();
        for space in spaces() {
            let disk = Disk::find(&space, &points, 2.0);
            assert!(
                disk.kept > 0.4 && disk.kept <= 1.0,
                "{space:?}: {}",
                disk.kept
            );
            for x in &points {
                let [a, b] = disk.put(&space, x);
                // tanh(2 / 2), with room for points that were not in the sample.
                assert!(a.hypot(b) < 0.8, "{space:?}: {a} {b}");
            }
        }
    }

    #[test]
    fn no_point_at_all_makes_a_disk_too() {
        let disk = Disk::find(&Space::Lorentz { curvature: 1.0 }, &[], 2.0);
        assert!(disk.put(&Space::Lorentz { curvature: 1.0 }, &[0.1, 0.2])[0].is_finite());
    }
}
