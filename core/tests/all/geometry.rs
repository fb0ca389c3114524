//! Reference values of the Lorentz geometry, and finite values and gradients at difficult points.

use burn::tensor::{DType, Device, Tensor, TensorData};
use espalier_core::geometry::{AngleFormula, cone, lorentz};
use espalier_fixtures::{close, values};
use proptest::prelude::*;

const A: [f64; 3] = [0.3, -0.2, 0.5];
const B: [f64; 3] = [-0.1, 0.4, 0.25];

/// Returns a row in `f64`, so that the formula is tested and not its rounding.
fn row(v: &[f64], device: &Device) -> Tensor<2> {
    let data = TensorData::new(v.to_vec(), [1, v.len()]);
    Tensor::from_data(data, (device, DType::F64))
}

#[track_caller]
fn near(found: Tensor<2>, known: &[f64], tolerance: f64) {
    close(&values(found), known, tolerance);
}

/// One line of notation 9.1: c, x, y, inner, distance, apertures, angles both ways.
struct Line {
    c: f64,
    x: [f64; 3],
    y: [f64; 3],
    inner: f64,
    dist: f64,
    aper: [f64; 2],
    oxy: [f64; 2],
}

const LINES: [Line; 3] = [
    Line {
        c: 1.0,
        x: [0.319_364_283_488, -0.212_909_522_326, 0.532_273_805_814],
        y: [-0.103_920_297_049, 0.415_681_188_194, 0.259_800_742_621],
        inner: -1.321_260_017_925,
        dist: 0.781_531_376_175,
        aper: [0.309_697_584_010, 0.410_571_560_247],
        oxy: [2.523_453_896_480, 2.279_894_173_628],
    },
    Line {
        c: 0.5,
        x: [0.309_590_659_353, -0.206_393_772_902, 0.515_984_432_255],
        y: [-0.101_948_792_940, 0.407_795_171_760, 0.254_871_982_350],
        inner: -2.305_955_632_419,
        dist: 0.772_603_748_380,
        aper: [0.460_747_229_314, 0.613_063_261_748],
        oxy: [2.491_939_626_423, 2.242_425_748_830],
    },
    Line {
        c: 2.0,
        x: [0.339_470_407_250, -0.226_313_604_834, 0.565_784_012_084],
        y: [-0.107_932_195_372, 0.431_728_781_486, 0.269_830_488_429],
        inner: -0.853_743_616_382,
        dist: 0.798_082_362_037,
        aper: [0.204_156_695_176, 0.275_199_911_497],
        oxy: [2.581_687_210_475, 2.349_457_434_366],
    },
];

#[test]
fn the_reference_table_holds_to_nine_digits_in_f64() {
    let device = Device::flex();
    // The published code adds eps = 1e-8 to denominators that are about 0.3 here.
    let tolerance = 1e-7;
    for line in LINES {
        let c = row(&[line.c], &device);
        let point = |v: &[f64]| lorentz::exp_map0(row(v, &device), c.clone());
        let (x, y) = (point(&A), point(&B));
        near(x.clone(), &line.x, 1e-9);
        near(y.clone(), &line.y, 1e-9);
        let both = |function: fn(Tensor<2>, Tensor<2>, Tensor<2>) -> Tensor<2>| {
            function(x.clone(), y.clone(), c.clone())
        };
        near(both(lorentz::inner), &[line.inner], 1e-9);
        near(both(lorentz::dist), &[line.dist], 1e-9);
        near(both(lorentz::pairwise_dist), &[line.dist], 1e-9);
        let aperture = |point: &Tensor<2>| cone::half_aperture(point.clone(), c.clone());
        near(aperture(&x), &[line.aper[0]], tolerance);
        near(aperture(&y), &[line.aper[1]], tolerance);
        near(both(cone::exterior_angle), &[line.oxy[0]], tolerance);
        let back = cone::exterior_angle(y.clone(), x.clone(), c.clone());
        near(back, &[line.oxy[1]], tolerance);
        near(lorentz::log_map0(x.clone(), c.clone()), &A, 1e-9);
    }
}

#[test]
fn the_single_reference_values_hold() {
    let device = Device::flex();
    let c = row(&[1.0], &device);
    let (x, y) = (row(&[1.0, 2.0], &device), row(&[2.0, -1.0], &device));
    let apart = lorentz::dist(x.clone(), y.clone(), c.clone());
    near(apart, &[2.477_888_730_288], 1e-9);
    let angle = cone::exterior_angle(x.clone(), y, c.clone());
    near(angle, &[2.753_995_965_083], 1e-7);
    let radius = lorentz::dist0(x.clone(), c.clone());
    near(radius, &[1.544_484_952_422], 1e-9);
    let none = lorentz::dist(x.clone(), x, c.clone());
    near(none, &[1.414_213_5e-4], 1e-9);
    let far = lorentz::exp_map0(row(&[30.0, 40.0], &device), c.clone());
    near(far, &[19_660.8, 26_214.4], 1e-6);
    for (norm, aper) in [
        (0.15, 1.570_654_905_438),
        (0.2, 1.570_480_099_036),
        (0.25, 0.927_295_164_668),
    ] {
        // At 0.2 the formula is only 1e-8 / 0.2 away from the clamp, so the tolerance is wider.
        let tolerance = if norm == 0.2 { 2e-4 } else { 1e-7 };
        let aperture = cone::half_aperture(row(&[norm, 0.0], &device), c.clone());
        near(aperture, &[aper], tolerance);
    }
}

#[test]
fn the_reference_table_holds_in_f32() {
    let device = Device::flex();
    for line in LINES {
        let point = |v: [f64; 3]| {
            let v = v.map(|a| a as f32);
            let c = Tensor::<2>::from_floats([[line.c as f32]], &device);
            lorentz::exp_map0(Tensor::<1>::from_floats(v, &device).unsqueeze(), c)
        };
        let c = Tensor::<2>::from_floats([[line.c as f32]], &device);
        let (x, y) = (point(A), point(B));
        let relative = |found: Tensor<2>, known: f64| {
            let found = values(found)[0];
            assert!(
                (found - known).abs() <= 1e-5 * known.abs(),
                "expected {known}, found {found}"
            );
        };
        relative(lorentz::dist(x.clone(), y.clone(), c.clone()), line.dist);
        relative(cone::half_aperture(x.clone(), c.clone()), line.aper[0]);
        relative(cone::exterior_angle(x, y, c), line.oxy[0]);
    }
}

/// Asserts that values and gradients of every function are finite at the points lifted from these
/// tangent vectors.
fn everything_is_finite(a: &[f32], b: &[f32], curv: f32) {
    let device = Device::flex().autodiff();
    let shape = [1, a.len()];
    let leaf = |v: &[f32]| {
        Tensor::<2>::from_data(TensorData::new(v.to_vec(), shape), &device).require_grad()
    };
    let c = Tensor::<2>::from_floats([[curv]], &device).require_grad();
    type Function = fn(Tensor<2>, Tensor<2>, Tensor<2>) -> Tensor<2>;
    let functions: [(&str, Function); 8] = [
        ("dist", lorentz::dist),
        ("inner", lorentz::inner),
        ("pairwise_dist", lorentz::pairwise_dist),
        ("dist0", |x, _, c| lorentz::dist0(x, c)),
        ("log_map0", |x, _, c| lorentz::log_map0(x, c)),
        ("half_aperture", |x, _, c| cone::half_aperture(x, c)),
        ("exterior_angle", cone::exterior_angle),
        ("entailment_gap", |x, y, c| {
            cone::entailment_gap(x, y, c, 1.2, AngleFormula::Stable)
        }),
    ];
    for (name, function) in functions {
        let (va, vb) = (leaf(a), leaf(b));
        let x = lorentz::exp_map0(va.clone(), c.clone());
        let y = lorentz::exp_map0(vb.clone(), c.clone());
        let out = function(x, y, c.clone());
        let what = format!("{name} of {a:?}, {b:?}, c = {curv}");
        let finite = |found: Tensor<2>| values(found).iter().all(|v| v.is_finite());
        assert!(finite(out.clone()), "the value of {what}");
        let grads = out.sum().backward();
        let gradients = [&va, &vb, &c].map(|leaf| leaf.grad(&grads));
        assert!(gradients.into_iter().flatten().all(finite), "{what}");
    }
}

#[test]
fn values_and_gradients_are_finite_at_the_hard_points() {
    let hard: [[f32; 3]; 10] = [
        [0.0, 0.0, 0.0],
        [1e-30, 0.0, 0.0],
        [1e-30, -1e-30, 1e-30],
        [1e-6, 2e-6, -1e-6],
        [0.3, -0.2, 0.5],
        [0.6, -0.4, 1.0],
        [-0.3, 0.2, -0.5],
        [11.0, 0.0, 0.0],
        [1e4, -1e4, 3.0],
        [1e30, 1e30, -1e30],
    ];
    for a in hard {
        for b in hard {
            for c in [0.1, 1.0, 10.0] {
                everything_is_finite(&a, &b, c);
            }
        }
    }
}

#[test]
fn a_point_sees_points_straight_outward_at_zero_and_inward_at_pi() {
    let device = Device::flex();
    let c = Tensor::<2>::from_floats([[1.0]], &device);
    let x = Tensor::<2>::from_floats([[0.3, 0.4], [0.3, 0.4], [0.3, 0.4]], &device);
    let y = Tensor::<2>::from_floats([[0.6, 0.8], [0.15, 0.2], [0.3, 0.4]], &device);
    let known = [0.0, std::f64::consts::PI, std::f64::consts::FRAC_PI_2];
    near(cone::exterior_angle(x, y, c), &known, 1e-3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn random_points_obey_the_laws_of_a_metric_and_of_cones(
        a in prop::collection::vec(-2.0_f32..2.0, 6),
        b in prop::collection::vec(-2.0_f32..2.0, 6),
        d in prop::collection::vec(-2.0_f32..2.0, 6),
        curv in 0.1_f32..10.0,
    ) {
        let device = Device::flex();
        let c = Tensor::<2>::from_floats([[curv]], &device);
        let tangent = |v: &[f32]| {
            Tensor::<2>::from_data(TensorData::new(v.to_vec(), [1, 6]), &device)
        };
        let lift = |v: &[f32]| lorentz::exp_map0(tangent(v), c.clone());
        let (x, y, z) = (lift(&a), lift(&b), lift(&d));
        let dist = |p: &Tensor<2>, q: &Tensor<2>| {
            values(lorentz::dist(p.clone(), q.clone(), c.clone()))[0]
        };
        let (xy, yx, yz, xz) = (dist(&x, &y), dist(&y, &x), dist(&y, &z), dist(&x, &z));
        prop_assert!(xy >= 0.0 && (xy - yx).abs() <= 1e-4 * (1.0 + xy));
        prop_assert!(xz <= xy + yz + 1e-3 * (1.0 + xz), "{xz} > {xy} + {yz}");

        let length = a.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
        let radius = values(lorentz::dist0(x.clone(), c.clone()))[0];
        if f64::from(curv).sqrt() * length < 11.0 {
            prop_assert!((radius - length).abs() <= 1e-4 * (1.0 + length));
            let a: Vec<f64> = a.iter().map(|v| f64::from(*v)).collect();
            near(lorentz::log_map0(x.clone(), c.clone()), &a, 1e-3);
        }
        let angle = values(cone::exterior_angle(x.clone(), y.clone(), c.clone()))[0];
        prop_assert!((0.0..=std::f64::consts::PI + 1e-6).contains(&angle));
        let near = values(cone::half_aperture(x.clone() * 0.5, c.clone()))[0];
        let far = values(cone::half_aperture(x, c.clone()))[0];
        prop_assert!(far <= near + 1e-6);
        everything_is_finite(&a, &b, curv);
        everything_is_finite(&a, &a, curv);
    }
}

#[test]
fn equal_points_far_out_are_their_own_midpoint() {
    let device = Device::flex();
    for curvature in [0.25_f32, 1.0, 4.0] {
        for at in 1..40 {
            let radius = 50.0 * at as f32;
            let point = [0.6 * radius, -0.8 * radius];
            let rows = Tensor::<2>::from_data([point, point, point, point], &device);
            let c = Tensor::<2>::from_data([[curvature]], &device);
            let middle = values(lorentz::einstein_midpoint(rows, c));
            let length = middle[0].hypot(middle[1]);
            // Rounding must not move it outward.
            let most = f64::from(radius) * 1.000_01;
            assert!(length <= most, "{curvature}, {radius}: {length}");
        }
    }
}

#[test]
fn factors_are_joined_in_the_order_of_points() {
    let device = Device::flex();
    let points: Vec<f32> = (0..12).map(|v| v as f32).collect();
    let points = Tensor::<3>::from_data(TensorData::new(points, [2, 2, 3]), &device);
    let flat = espalier_core::geometry::product::flatten(points);
    assert_eq!(flat.dims(), [2, 6]);
    let flat: Vec<f32> = flat.into_data().iter().collect();
    let expected = [0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11].map(|v| v as f32);
    assert_eq!(flat, expected);
}

#[test]
fn the_cosine_of_the_published_angle_is_clamped_at_both_ends() {
    let device = Device::flex();
    let angle = |x: [f64; 2], y: [f64; 2]| {
        let [x, y, c] = [&x[..], &y, &[1.0]].map(|v| row(v, &device));
        values(cone::literal_angle(x, y, c, 0.01))[0]
    };
    let (near, far) = ([3.0, 0.0], [9.0, 0.0]);
    let cosines = [angle(near, far), angle(far, near)].map(f64::cos);
    close(&cosines, &[0.99, -0.99], 1e-12);
}
