//! The Poincaré ball on plain slices, for drawing hyperbolic space (notation 1.2).
//!
//! The ball has radius 1 and curvature -1. A point of the Lorentz model of curvature `-c` is mapped
//! here with all distances multiplied by `sqrt(c)`. Everything is `f64`: near the rim, where
//! specific concepts are, `1 - |p|^2` needs the precision.

/// Largest Euclidean norm of a point, so that `1 - |p|^2` is never zero.
pub const RIM: f64 = 1.0 - 1e-9;

/// Maximum number of steps of [`frechet_mean`], which converges linearly.
const MEAN_STEPS: usize = 100;

/// Returns the dot product.
#[must_use]
pub fn dot(p: &[f64], q: &[f64]) -> f64 {
    p.iter().zip(q).map(|(a, b)| a * b).sum()
}

/// Returns `acosh(1 + z)` for `z >= 0`, exact for small `z` (notation 1.3).
#[must_use]
pub fn acosh_1p(z: f64) -> f64 {
    let z = z.max(0.0);
    (z + (z * (z + 2.0)).sqrt()).ln_1p()
}

/// Maps a point of the Lorentz model, given by its space part, into the ball:
/// `p = sqrt(c) x / (1 + sqrt(c) x0)`.
#[must_use]
pub fn from_lorentz(x: &[f32], c: f64) -> Vec<f64> {
    let root_c = c.sqrt();
    let x: Vec<f64> = x.iter().map(|v| root_c * f64::from(*v)).collect();
    let time = (1.0 + dot(&x, &x)).sqrt();
    inside(x.iter().map(|v| v / (1.0 + time)).collect())
}

/// Returns the space part of a point of the ball in the Lorentz model of `c = 1`, and its time
/// part.
#[must_use]
pub fn to_lorentz(p: &[f64]) -> (Vec<f64>, f64) {
    let square = dot(p, p);
    let gap = (1.0 - square).max(f64::MIN_POSITIVE);
    (
        p.iter().map(|v| 2.0 * v / gap).collect(),
        (1.0 + square) / gap,
    )
}

/// Returns the point, scaled down to norm [`RIM`] if its norm is larger.
#[must_use]
pub fn inside(p: Vec<f64>) -> Vec<f64> {
    let norm = dot(&p, &p).sqrt();
    if norm <= RIM {
        return p;
    }
    p.into_iter().map(|v| v * RIM / norm).collect()
}

/// Returns the hyperbolic distance, `acosh(1 + 2 |p - q|^2 / ((1 - |p|^2) (1 - |q|^2)))`.
#[must_use]
pub fn distance(p: &[f64], q: &[f64]) -> f64 {
    let square: f64 = p.iter().zip(q).map(|(a, b)| (a - b).powi(2)).sum();
    acosh_1p(2.0 * square / ((1.0 - dot(p, p)) * (1.0 - dot(q, q))))
}

/// Computes the Busemann function of an ideal point `ideal` of norm 1,
/// `ln(|ideal - p|^2 / (1 - |p|^2))`: how much farther from `ideal` the point is than the origin.
/// On the ray from the origin toward `ideal` it is minus the distance to the origin.
#[must_use]
pub fn busemann(ideal: &[f64], p: &[f64]) -> f64 {
    let square: f64 = ideal.iter().zip(p).map(|(a, b)| (a - b).powi(2)).sum();
    (square / (1.0 - dot(p, p))).ln()
}

/// Returns the exponential map at the origin: the result `tanh(|v| / 2) v / |v|` has distance `|v|`
/// to the origin.
#[must_use]
pub fn exp0(v: &[f64]) -> Vec<f64> {
    let norm = dot(v, v).sqrt();
    let scale = if norm > 0.0 {
        (norm / 2.0).tanh() / norm
    } else {
        0.5
    };
    inside(v.iter().map(|a| a * scale).collect())
}

/// Returns the logarithmic map at the origin, the inverse of [`exp0`].
#[must_use]
pub fn log0(p: &[f64]) -> Vec<f64> {
    let norm = dot(p, p).sqrt();
    // 2 atanh(t) = ln((1 + t) / (1 - t)) = ln_1p(2 t / (1 - t)).
    let scale = if norm > 0.0 {
        (2.0 * norm / (1.0 - norm)).ln_1p() / norm
    } else {
        2.0
    };
    p.iter().map(|a| a * scale).collect()
}

/// Applies to `p` the isometry that maps `centre` to the origin: the Möbius sum `(-centre) + p`.
#[must_use]
pub fn centred(centre: &[f64], p: &[f64]) -> Vec<f64> {
    let minus: Vec<f64> = centre.iter().map(|v| -v).collect();
    mobius_add(&minus, p)
}

/// Computes the Möbius sum
/// `((1 + 2 <a, p> + |p|^2) a + (1 - |a|^2) p) / (1 + 2 <a, p> + |a|^2 |p|^2)`.
#[must_use]
pub fn mobius_add(a: &[f64], p: &[f64]) -> Vec<f64> {
    let (aa, ap, pp) = (dot(a, a), dot(a, p), dot(p, p));
    let below = 1.0 + 2.0 * ap + aa * pp;
    let (of_a, of_p) = ((1.0 + 2.0 * ap + pp) / below, (1.0 - aa) / below);
    inside(a.iter().zip(p).map(|(a, p)| of_a * a + of_p * p).collect())
}

/// Returns the point with the smallest sum of squared distances to all given points, or an empty
/// vector if there are none.
#[must_use]
pub fn frechet_mean(points: &[Vec<f64>]) -> Vec<f64> {
    let Some(first) = points.first() else {
        return Vec::new();
    };
    let mut mean = vec![0.0; first.len()];
    for _ in 0..MEAN_STEPS {
        // In the tangent space at the mean, the points have mean zero.
        let mut step = vec![0.0; mean.len()];
        for p in points {
            for (s, v) in step.iter_mut().zip(log0(&centred(&mean, p))) {
                *s += v / points.len() as f64;
            }
        }
        mean = mobius_add(&mean, &exp0(&step));
        if dot(&step, &step) < 1e-24 {
            break;
        }
    }
    mean
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }

    #[test]
    fn a_point_beyond_the_rim_is_moved_to_it() {
        assert_eq!(inside(vec![0.6, 0.7]), [0.6, 0.7]);
        let moved = inside(vec![3.0, -4.0]);
        near(moved[0], 0.6 * RIM);
        near(moved[1], -0.8 * RIM);
    }

    #[test]
    fn points_of_the_reference_have_its_coordinates_and_distance() {
        // notation 9.1, c = 1; stored in f32, hence the tolerance.
        let x = [0.319_364_283_488, -0.212_909_522_326, 0.532_273_805_814].map(|v: f64| v as f32);
        let y = [-0.103_920_297_049, 0.415_681_188_194, 0.259_800_742_621].map(|v: f64| v as f32);
        let (p, q) = (from_lorentz(&x, 1.0), from_lorentz(&y, 1.0));
        let known = [
            [0.145_423_816_632, -0.096_949_211_088, 0.242_373_027_720],
            [-0.049_053_255_728, 0.196_213_022_910, 0.122_633_139_318],
        ];
        for (found, known) in [&p, &q].into_iter().zip(known) {
            for (a, b) in found.iter().zip(known) {
                assert!((a - b).abs() < 1e-7, "{a} {b}");
            }
        }
        assert!((distance(&p, &q) - 0.781_531_376_175).abs() < 1e-6);
        // With c = 2, distances in the ball are sqrt(2) times those of the model.
        let x = [0.339_470_407_250, -0.226_313_604_834, 0.565_784_012_084].map(|v: f64| v as f32);
        let y = [-0.107_932_195_372, 0.431_728_781_486, 0.269_830_488_429].map(|v: f64| v as f32);
        let d = distance(&from_lorentz(&x, 2.0), &from_lorentz(&y, 2.0));
        assert!((d - 2.0_f64.sqrt() * 0.798_082_362_037).abs() < 1e-6);
    }

    #[test]
    fn the_busemann_function_is_minus_the_distance_on_its_ray_and_plus_behind() {
        let ideal = [0.6, 0.8];
        for t in [0.0, 0.3, 2.0, 7.0] {
            near(busemann(&ideal, &exp0(&[0.6 * t, 0.8 * t])), -t);
            near(busemann(&ideal, &exp0(&[-0.6 * t, -0.8 * t])), t);
        }
    }

    #[test]
    fn the_busemann_function_is_the_limit_of_differences_of_distances() {
        let (ideal, p) = ([1.0, 0.0, 0.0], [0.2, -0.5, 0.3]);
        let far = exp0(&[16.0, 0.0, 0.0]);
        assert!((busemann(&ideal, &p) - (distance(&p, &far) - 16.0)).abs() < 1e-5);
    }

    #[test]
    fn the_mean_of_two_points_lies_half_way() {
        let (p, q) = (vec![0.7, 0.1], vec![-0.2, 0.5]);
        let mean = frechet_mean(&[p.clone(), q.clone()]);
        near(distance(&mean, &p), distance(&p, &q) / 2.0);
        near(distance(&mean, &q), distance(&p, &q) / 2.0);
    }

    fn point() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(-2.0_f64..2.0, 3).prop_map(|v| exp0(&v))
    }

    proptest! {
        #[test]
        fn centring_takes_its_centre_to_the_origin_and_keeps_distances(
            c in point(), p in point(), q in point(),
        ) {
            prop_assert!(dot(&centred(&c, &c), &centred(&c, &c)).sqrt() < 1e-9);
            let moved = distance(&centred(&c, &p), &centred(&c, &q));
            prop_assert!((moved - distance(&p, &q)).abs() < 1e-6);
        }

        #[test]
        fn log_and_exp_are_inverse_and_the_lorentz_model_agrees(p in point()) {
            let back = exp0(&log0(&p));
            prop_assert!(p.iter().zip(&back).all(|(a, b)| (a - b).abs() < 1e-9));
            let (x, x0) = to_lorentz(&p);
            prop_assert!((x0 * x0 - dot(&x, &x) - 1.0).abs() < 1e-6);
            let radius = dot(&log0(&p), &log0(&p)).sqrt();
            prop_assert!((acosh_1p(x0 - 1.0) - radius).abs() < 1e-8);
        }
    }
}
