//! Reference values of MERU, PHyCLIP, RE, EC, RCME, visual hierarchies and ATMG (METHODS 9.2, 9.3,
//! 9.6, 9.7), and finite values and gradients where directions vanish.

#![allow(clippy::unwrap_used)]

use std::f64::consts::{FRAC_PI_2, PI};

use burn::tensor::{DType, Device, Tensor, TensorData};
use espalier_core::geometry::{Form, Join, cone, lorentz, product, radial};
use espalier_core::loss::{
    Chains, HycoclipPoints, HycoclipWeights, ImageApex, Lineages, LossTerms, MarginSide, PairTerm,
    RadialWeights, RcmeWeights, Relations, RootMode, atmg, meru, parts, phyclip, rcme,
};
use espalier_core::math::normalize;
use espalier_tests::{close, values};

const SCALE: f64 = 1.0 / 0.07;

fn tensor<const D: usize>(v: Vec<f64>, shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::from_data(TensorData::new(v, shape), (device, DType::F64))
}

fn scalar<const D: usize>(v: f64, device: &Device) -> Tensor<D> {
    tensor(vec![v], [1; D], device)
}

fn term(loss: &LossTerms, name: &str) -> f64 {
    let (_, t) = loss.named.iter().find(|(n, _)| *n == name).unwrap();
    values(t.clone())[0]
}

fn total(loss: &LossTerms) -> f64 {
    values(loss.total.clone().inner())[0]
}

/// Tangent features of METHODS 9.2: role 0 image, 1 text, 2 box image, 3 box text.
fn features(role: usize, device: &Device) -> Tensor<2> {
    let v = (0..12).map(|at| {
        let (i, j) = (f64::from(at / 4), f64::from(at % 4));
        0.5 * (1.0 + 0.7 * i + 0.3 * j + 1.1 * role as f64).sin()
    });
    tensor(v.collect(), [3, 4], device)
}

#[test]
fn meru_on_the_toy_batch_has_the_reference_terms() {
    let device = Device::flex();
    let known = [
        (1.0, 5.239_952_841_553, 1.645_892_096_829, 5.569_131_260_919),
        (0.5, 5.199_953_391_058, 1.391_825_120_350, 5.478_318_415_128),
    ];
    for (curv, contrastive, entail, all) in known {
        let c = scalar::<2>(curv, &device);
        let lift = |role| lorentz::exp_map0(features(role, &device), c.clone());
        let loss = meru(
            lift(0),
            lift(1),
            c.clone(),
            scalar(SCALE, &device),
            0.2,
            Form::Literal(1e-8),
        );
        let found = [
            term(&loss, "contrastive"),
            term(&loss, "entail"),
            total(&loss),
        ];
        close(&found, &[contrastive, entail, all], 1e-9);
        // The stable angles differ from the published ones by the eps in their denominators.
        let s = scalar(SCALE, &device);
        let stable = meru(lift(0), lift(1), c.clone(), s, 0.2, Form::Stable);
        close(&[total(&stable)], &[all], 1e-6);
    }
}

#[test]
fn phyclip_on_the_toy_batch_has_the_reference_terms() {
    let device = Device::flex();
    let known = [
        (
            Join::L1,
            [1.0, 1.0],
            3.931_851_173_853,
            3.551_808_764_359,
            4.642_212_926_725,
        ),
        (
            Join::L1,
            [0.5, 2.0],
            3.930_537_480_969,
            3.589_467_663_330,
            4.648_431_013_635,
        ),
        (
            Join::L2,
            [1.0, 1.0],
            3.907_204_824_434,
            3.551_808_764_359,
            4.617_566_577_306,
        ),
        (
            Join::L2,
            [0.5, 2.0],
            3.907_685_470_980,
            3.589_467_663_330,
            4.625_579_003_645,
        ),
    ];
    for (join, curvs, contrastive, entail, all) in known {
        let c = tensor(curvs.to_vec(), [2, 1, 1], &device);
        let lift = |role| lorentz::exp_map0(product::split(features(role, &device), 2), c.clone());
        let points = HycoclipPoints {
            image: lift(0),
            text: lift(1),
            box_image: lift(2),
            box_text: lift(3),
        };
        let weights = HycoclipWeights {
            form: Form::Literal(1e-6),
            ..HycoclipWeights::default()
        };
        let loss = phyclip(&points, c.clone(), scalar(SCALE, &device), join, weights);
        let found = [
            term(&loss, "contrastive"),
            term(&loss, "entail"),
            total(&loss),
        ];
        close(&found, &[contrastive, entail, all], 1e-8);
        if join == Join::L1 && curvs[0] == 0.5 {
            let terms = [
                "entail_text_image",
                "entail_box_text_image",
                "entail_box_image_image",
                "entail_box_text_text",
            ];
            let known = [
                1.412_599_199_345,
                1.520_842_218_902,
                2.367_212_613_123,
                1.878_281_295_289,
            ];
            close(&terms.map(|name| term(&loss, name)), &known, 1e-8);
        }
    }
}

#[test]
fn the_distances_and_scores_of_a_product_are_the_reference_ones() {
    let device = Device::flex();
    let c = tensor(vec![0.5, 2.0], [2, 1, 1], &device);
    let lift = |role| lorentz::exp_map0(product::split(features(role, &device), 2), c.clone());
    let (image, text) = (lift(0), lift(1));
    let dist = product::pairwise_dist(image.clone(), text.clone(), c.clone(), Join::L1);
    let known = [0.321_908_173_456, 0.748_549_591_685, 1.151_200_189_621];
    close(&values(dist)[..3], &known, 1e-9);
    let score = product::pairwise_inner(image.clone(), text, c);
    let known = [-2.639_391_878_816, -3.189_784_479_678, -4.151_278_375_688];
    close(&values(score)[..3], &known, 1e-9);
    close(
        &values(product::flatten(product::split(features(0, &device), 2))),
        &values(features(0, &device)),
        1e-15,
    );
}

/// Unit vector.
fn unit(v: &[f64], device: &Device) -> Tensor<2> {
    normalize(tensor(v.to_vec(), [1, v.len()], device))
}

#[test]
fn radial_angles_have_the_reference_values() {
    let device = Device::flex();
    let u = |v: [f64; 3]| unit(&v, &device);
    let (r, zero) = (u([1.0, 0.0, 0.0]), tensor(vec![0.0; 3], [1, 3], &device));
    let (e, f, g) = (u([1.0, 1.0, 0.0]), u([1.0, 1.0, 1.0]), u([1.0, -1.0, 0.5]));
    let xi = |e: &Tensor<2>, f: &Tensor<2>, r: &Tensor<2>| {
        values(radial::exterior_angle(e.clone(), f.clone(), r.clone()))[0]
    };
    let found = [
        xi(&e, &f, &r),
        xi(&e, &g, &r),
        xi(&f, &e, &r),
        xi(&e, &f, &zero),
    ];
    let known = [
        1.686_974_395_656,
        2.660_560_316_423,
        2.168_108_677_979,
        1.878_536_181_130,
    ];
    close(&found, &known, 1e-9);
    let theta = radial::half_aperture(e.clone(), r.clone());
    close(&values(theta), &[0.065_374_705_264], 1e-9);
    // METHODS 9.6, the tangents of 9.1 about zero.
    let a = tensor(vec![0.3, -0.2, 0.5], [1, 3], &device);
    let b = tensor(vec![-0.1, 0.4, 0.25], [1, 3], &device);
    close(&[xi(&a, &b, &zero)], &[2.458_787_723_035], 1e-9);
    close(
        &values(radial::pairwise_exterior_angle(a, b)),
        &[2.458_787_723_035],
        1e-9,
    );
}

/// Vector of text `k` in METHODS 9.3 (b).
fn text(k: usize) -> [f64; 4] {
    let k = k as f64;
    std::array::from_fn(|j| {
        let first = if j == 0 { 1.0 } else { 0.0 };
        (1.0 + 0.7 * k + 0.3 * j as f64 * (1.0 + k)).sin() + first
    })
}

fn toy_chains(device: &Device) -> Chains {
    let of = |first: usize| -> Vec<f64> {
        (0..2)
            .flat_map(|s| (0..4).flat_map(move |t| text(first + 8 * s + t)))
            .collect()
    };
    let unit3 = |v: Vec<f64>| normalize(tensor(v, [2, 4, 4], device));
    let frozen: Vec<f64> = [1, 5]
        .into_iter()
        .flat_map(|first| (0..2).flat_map(move |s| (0..4).map(move |t| first + 8 * s + t)))
        .flat_map(|k| {
            let (v, w) = (text(k), text(k + 50));
            std::array::from_fn::<f64, 4, _>(|j| v[j] + 0.1 * w[j])
        })
        .collect();
    Chains {
        positives: unit3(of(1)),
        negatives: unit3(of(5)),
        root: unit(&text(0), device),
        frozen: Some(normalize(tensor(frozen, [16, 4], device))),
    }
}

#[test]
fn a_step_of_re_has_the_reference_terms() {
    let loss = espalier_core::loss::radial(&toy_chains(&Device::flex()), RadialWeights::default());
    let found = ["pull_back", "entail", "mined"].map(|name| term(&loss, name));
    let known = [0.003_286_960_138, -0.330_962_846_412, -0.536_205_122_180];
    close(&found, &known, 1e-9);
    close(&[total(&loss)], &[-0.834_298_367_216], 1e-9);
}

#[test]
fn cones_with_an_endless_outer_margin_have_the_order_of_re() {
    let chains = toy_chains(&Device::flex());
    let weights = |term| RadialWeights {
        term,
        mined: 0.0,
        pull_back: 0.0,
        negatives: 1.0,
    };
    let re = total(&espalier_core::loss::radial(
        &chains,
        weights(PairTerm::Angle),
    ));
    let margin = 10.0;
    let cone = PairTerm::Cone {
        margin,
        side: MarginSide::Outside,
    };
    let ec = total(&espalier_core::loss::radial(&chains, weights(cone)));
    // Theta cancels between the pair; both terms carry the margin.
    close(&[ec - 2.0 * margin], &[re], 1e-9);
}

#[test]
fn plain_cones_have_the_reference_terms() {
    let device = Device::flex();
    let u = |v: [f64; 3]| unit(&v, &device).unsqueeze::<3>();
    let (e, f, g) = (u([1.0, 1.0, 0.0]), u([1.0, 1.0, 1.0]), u([1.0, -1.0, 0.5]));
    let chains = Chains {
        positives: Tensor::cat(vec![e, f.clone()], 1),
        negatives: Tensor::cat(vec![g, f], 1),
        root: unit(&[1.0, 0.0, 0.0], &device),
        frozen: None,
    };
    let weights = RadialWeights {
        term: PairTerm::Cone {
            margin: 0.0,
            side: MarginSide::Outside,
        },
        ..RadialWeights::default()
    };
    let loss = espalier_core::loss::radial(&chains, weights);
    let found = ["entail_positive", "entail_negative"].map(|name| term(&loss, name));
    close(&found, &[1.621_599_690_392, 0.0], 1e-9);
}

fn lineage(device: &Device) -> Lineages {
    const TEXTS: [[f64; 4]; 7] = [
        [1.0, 0.3, 0.1, 0.0],
        [1.0, 0.6, 0.1, 0.1],
        [0.8, 0.7, 0.4, 0.1],
        [0.5, 0.8, 0.6, 0.3],
        [0.3, 0.7, 0.9, 0.5],
        [0.1, 0.5, 1.0, 0.9],
        [0.1, 0.2, 0.9, 1.3],
    ];
    let texts = normalize(tensor(TEXTS.concat(), [1, 7, 4], device));
    Lineages {
        // Negatives equal to the positives: the local term is then zero.
        negatives: texts.clone().narrow(1, 1, 6),
        texts,
        root: unit(&[1.0, 0.0, 0.0, 0.0], device),
        images: None,
        frozen: None,
    }
}

#[test]
fn rcme_on_the_toy_lineage_has_the_reference_terms() {
    let device = Device::flex();
    let weights = |margin| RcmeWeights {
        margin,
        ..RcmeWeights::default()
    };
    let found = |margin| rcme(&lineage(&device), scalar(1.0, &device), weights(margin));
    close(
        &[term(&found(FRAC_PI_2), "entail_global")],
        &[1.357_203_997_400],
        1e-7,
    );
    close(
        &[term(&found(0.0), "entail_global")],
        &[0.039_702_822_434 / 5.0],
        1e-7,
    );
    close(&[term(&found(0.0), "entail_local")], &[0.0], 1e-12);
}

#[test]
fn the_angles_along_the_toy_lineage_are_the_reference_ones() {
    let device = Device::flex();
    let l = lineage(&device);
    let at = |i: usize| l.texts.clone().narrow(1, i, 1);
    let root = l.root.clone().unsqueeze::<3>();
    let xi = |i: usize, j: usize| values(radial::exterior_angle(at(i), at(j), root.clone()))[0];
    let known = [
        0.547_843_268_565,
        0.980_066_748_294,
        0.784_944_217_934,
        1.159_628_740_778,
        1.328_646_285_254,
        1.672_416_386_386,
    ];
    close(
        &std::array::from_fn::<f64, 6, _>(|i| xi(i, i + 1)),
        &known,
        1e-9,
    );
    let known = [
        0.531_641_920_737,
        0.953_360_846_116,
        1.064_332_827_196,
        1.343_068_404_419,
        1.610_499_149_229,
    ];
    close(
        &std::array::from_fn::<f64, 5, _>(|i| xi(i, i + 2)),
        &known,
        1e-9,
    );
}

#[test]
fn angles_from_the_parent_differ_from_those_from_the_root_after_the_first_rank() {
    let device = Device::flex();
    let weights = |root_mode| RcmeWeights {
        root_mode,
        ..RcmeWeights::default()
    };
    let of = |mode| {
        term(
            &rcme(&lineage(&device), scalar(1.0, &device), weights(mode)),
            "entail_global",
        )
    };
    assert!((of(RootMode::Root) - of(RootMode::Parent)).abs() > 1e-2);
}

fn relations(pairs: &[(usize, usize)], device: &Device) -> Relations {
    let mut v = vec![0.0; 9];
    for (i, j) in pairs {
        v[3 * i + j] = 1.0;
    }
    let mask = tensor(v, [3, 3], device).greater_scalar(0.5);
    Relations {
        pairs: mask.clone(),
        entails: mask,
    }
}

#[test]
fn visual_hierarchies_on_the_toy_batch_have_the_reference_terms() {
    let device = Device::flex();
    let c = scalar::<2>(1.0, &device);
    let lift = |role| lorentz::exp_map0(features(role, &device), c.clone());
    let (whole, part) = (lift(0), lift(2));
    let angles = cone::pairwise_exterior_angle(whole.clone(), part.clone(), c.clone());
    let known = [
        3.002_009_44,
        3.112_241_10,
        3.087_386_52,
        2.896_300_04,
        3.006_728_45,
        3.102_831_54,
        2.382_407_74,
        2.535_235_00,
        2.696_217_58,
    ];
    // As published, with an eps of 1e-8 in denominators.
    close(&values(angles), &known, 1e-6);

    let diagonal = [(0, 0), (1, 1), (2, 2)];
    let more = [(0, 0), (0, 1), (1, 1), (2, 2)];
    let known = [
        (diagonal.as_slice(), 2.271_543_375_269, 1.470_229_616_248),
        (more.as_slice(), 1.888_173_411_593, 0.767_479_843_616),
    ];
    for (pairs, to_part, to_whole) in known {
        let loss = parts(
            whole.clone(),
            part.clone(),
            c.clone(),
            scalar(SCALE, &device),
            &relations(pairs, &device),
        );
        let found = ["whole_to_part", "part_to_whole"].map(|name| term(&loss, name));
        close(&found, &[to_part, to_whole], 1e-6);
    }
}

#[test]
fn a_part_without_negatives_costs_nothing() {
    let device = Device::flex();
    let c = scalar::<2>(1.0, &device);
    let lift = |role| lorentz::exp_map0(features(role, &device), c.clone());
    let all: Vec<(usize, usize)> = (0..9).map(|at| (at / 3, at % 3)).collect();
    let loss = parts(
        lift(0),
        lift(2),
        c.clone(),
        scalar(SCALE, &device),
        &relations(&all, &device),
    );
    close(&[total(&loss)], &[0.0], 1e-12);
}

#[test]
fn pairwise_angles_are_the_angles_of_the_pairs() {
    let device = Device::flex();
    let c = scalar::<2>(0.7, &device);
    let lift = |role| lorentz::exp_map0(features(role, &device), c.clone());
    let (x, y) = (lift(0), lift(3));
    let all = values(cone::pairwise_exterior_angle(
        x.clone(),
        y.clone(),
        c.clone(),
    ));
    for i in 0..3 {
        let apex = x.clone().narrow(0, i, 1).expand([3, 4]);
        let row = values(cone::exterior_angle(apex, y.clone(), c.clone()));
        close(&all[3 * i..3 * i + 3], &row, 1e-9);
    }
}

#[test]
fn the_einstein_midpoint_is_the_reference_one() {
    let device = Device::flex();
    let x = [
        [0.319_364_283_488, -0.212_909_522_326, 0.532_273_805_814],
        [-0.103_920_297_049, 0.415_681_188_194, 0.259_800_742_621],
    ];
    let c = scalar::<2>(1.0, &device);
    let mid = lorentz::einstein_midpoint(tensor(x.concat(), [2, 3], &device), c.clone());
    let known = [0.099_990_210_585, 0.094_108_830_355, 0.367_611_564_409];
    close(&values(mid.clone()), &known, 1e-9);
    close(&values(lorentz::dist0(mid, c)), &[0.382_987_496_548], 1e-9);
}

#[test]
fn atmg_contrasts_angles_and_keeps_centroids_at_their_radii() {
    let device = Device::flex();
    let c = scalar::<2>(1.0, &device);
    let lift = |role| lorentz::exp_map0(features(role, &device), c.clone());
    let (image, text) = (lift(0), lift(1));
    let of = |apex, weight| {
        let s = scalar(SCALE, &device);
        atmg(image.clone(), text.clone(), c.clone(), s, apex, weight)
    };
    let loss = of(ImageApex::Maximised, 0.5);
    let centroids = term(&loss, "centroid_image") + term(&loss, "centroid_text");
    close(
        &[total(&loss)],
        &[term(&loss, "contrastive") + 0.5 * centroids],
        1e-12,
    );
    // The angle at a text as logits, by hand.
    let angles = values(cone::pairwise_exterior_angle(
        text.clone(),
        image.clone(),
        c.clone(),
    ));
    let back = values(cone::pairwise_exterior_angle(
        image.clone(),
        text.clone(),
        c.clone(),
    ));
    let ce = |logits: &[f64]| -> f64 {
        let row = |i: usize| {
            let row = &logits[3 * i..3 * i + 3];
            row.iter().map(|l| l.exp()).sum::<f64>().ln() - row[i]
        };
        (0..3).map(row).sum::<f64>() / 3.0
    };
    let scaled = |v: &[f64], s: f64| v.iter().map(|a| a * s).collect::<Vec<f64>>();
    let known = 0.5 * (ce(&scaled(&angles, -SCALE)) + ce(&scaled(&back, SCALE)));
    close(&[term(&loss, "contrastive")], &[known], 1e-9);
    assert!(term(&of(ImageApex::Minimised, 0.0), "contrastive") > 0.0);
}

/// The gradient of every entry equals its central difference.
fn differentiates(base: &[f64], loss: impl Fn(&[f64], &Device) -> (Tensor<1>, Tensor<1>)) {
    let device = Device::flex().autodiff();
    let (value, input) = loss(base, &device);
    let grads = value.backward();
    let found = values(input.grad(&grads).unwrap());
    let step = 1e-6;
    let at = |i: usize, by: f64| {
        let mut v = base.to_vec();
        v[i] += by;
        values(loss(&v, &Device::flex().autodiff()).0.inner())[0]
    };
    for (i, found) in found.iter().enumerate() {
        let known = (at(i, step) - at(i, -step)) / (2.0 * step);
        let tolerance = 1e-5 * known.abs().max(1.0);
        assert!(
            (found - known).abs() <= tolerance,
            "entry {i}: {found}, expected {known}"
        );
    }
}

fn spread(n: usize) -> Vec<f64> {
    (0..n)
        .map(|i| (1.3 * i as f64 + 0.2 * (i * i) as f64).sin())
        .collect()
}

#[test]
fn gradients_of_chains_agree_with_finite_differences() {
    differentiates(&spread(2 * 2 * 4 * 5 + 5), |v, device| {
        let input = tensor(v.to_vec(), [v.len()], device).require_grad();
        let cut = |from: usize| normalize(input.clone().narrow(0, from, 40).reshape([2, 4, 5]));
        let chains = Chains {
            positives: cut(0),
            negatives: cut(40),
            root: normalize(input.clone().narrow(0, 80, 5).reshape([1, 5])),
            frozen: Some(normalize(tensor(spread(80), [16, 5], device))),
        };
        let weights = RadialWeights {
            term: PairTerm::Cone {
                margin: PI / 8.0,
                side: MarginSide::Outside,
            },
            ..RadialWeights::default()
        };
        (espalier_core::loss::radial(&chains, weights).total, input)
    });
}

#[test]
fn gradients_of_lineages_agree_with_finite_differences() {
    differentiates(&spread(2 * 4 * 5 + 2 * 3 * 5 + 5 + 10), |v, device| {
        let input = tensor(v.to_vec(), [v.len()], device).require_grad();
        let cut = |from: usize, ranks: usize| {
            normalize(
                input
                    .clone()
                    .narrow(0, from, 10 * ranks)
                    .reshape([2, ranks, 5]),
            )
        };
        let lineages = Lineages {
            texts: cut(0, 4),
            negatives: cut(40, 3),
            root: normalize(input.clone().narrow(0, 70, 5).reshape([1, 5])),
            images: Some(normalize(input.clone().narrow(0, 75, 10).reshape([2, 5]))),
            frozen: None,
        };
        let weights = RcmeWeights {
            root_mode: RootMode::Parent,
            ..RcmeWeights::default()
        };
        (rcme(&lineages, scalar(3.0, device), weights).total, input)
    });
}

#[test]
fn gradients_of_wholes_and_parts_agree_with_finite_differences() {
    differentiates(&spread(2 * 3 * 4), |v, device| {
        let input = tensor(v.to_vec(), [v.len()], device).require_grad();
        let c = scalar::<2>(0.8, device);
        let cut = |from: usize| {
            let tangent = input.clone().narrow(0, from, 12).reshape([3, 4]);
            lorentz::exp_map0(tangent, c.clone())
        };
        let related = relations(&[(0, 0), (0, 1), (1, 1), (2, 2)], device);
        (
            parts(cut(0), cut(12), c.clone(), scalar(3.0, device), &related).total,
            input,
        )
    });
}

#[test]
fn gradients_of_products_agree_with_finite_differences() {
    differentiates(&spread(4 * 3 * 4 + 2), |v, device| {
        let input = tensor(v.to_vec(), [v.len()], device).require_grad();
        let c = input.clone().narrow(0, 48, 2).exp().reshape([2, 1, 1]);
        let cut = |from: usize| {
            let tangent = input.clone().narrow(0, from, 12).reshape([3, 4]);
            lorentz::exp_map0(product::split(tangent, 2), c.clone())
        };
        let points = HycoclipPoints {
            image: cut(0),
            text: cut(12),
            box_image: cut(24),
            box_text: cut(36),
        };
        let weights = HycoclipWeights::default();
        let loss = phyclip(&points, c.clone(), scalar(3.0, device), Join::L2, weights);
        (loss.total, input)
    });
}

#[test]
fn chains_of_one_and_the_same_text_have_finite_values_and_gradients() {
    let finite = |loss: &dyn Fn(Tensor<3>, Tensor<2>, &Device) -> LossTerms| {
        let device = Device::flex().autodiff();
        let one = Tensor::<3>::ones([2, 4, 5], &device).require_grad();
        let same = normalize(one.clone());
        let root = same.clone().narrow(0, 0, 1).narrow(1, 0, 1).reshape([1, 5]);
        let loss = loss(same, root, &device);
        assert!(total(&loss).is_finite());
        let grads = loss.total.backward();
        assert!(
            values(one.grad(&grads).unwrap())
                .iter()
                .all(|g| g.is_finite())
        );
    };
    finite(&|same, root, _| {
        let chains = Chains {
            positives: same.clone(),
            negatives: same,
            root,
            frozen: None,
        };
        espalier_core::loss::radial(&chains, RadialWeights::default())
    });
    finite(&|same, root, device| {
        let lineages = Lineages {
            negatives: same.clone().narrow(1, 0, 3),
            texts: same,
            root,
            images: None,
            frozen: None,
        };
        rcme(&lineages, Tensor::ones([1], device), RcmeWeights::default())
    });
}
