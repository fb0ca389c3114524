//! RE, EC and RCME (notation 9.3, 9.7).

use std::f64::consts::FRAC_PI_2;

use burn::tensor::{Device, Tensor};
use espalier_core::geometry::radial;
use espalier_core::loss::{
    Chains, Lineages, LossTerms, MarginSide, PairTerm, RadialWeights, RcmeWeights, RootMode, rcme,
};
use espalier_core::math::normalize;
use espalier_fixtures::{close, values};

use super::{scalar, tensor, term, total, unit};

#[test]
fn radial_angles_have_the_reference_values() {
    let device = Device::flex();
    let u = |v: [f64; 3]| unit(&v, &device);
    let (r, zero) = (u([1.0, 0.0, 0.0]), tensor(vec![0.0; 3], [1, 3], &device));
    let (e, f, g) = (u([1.0, 1.0, 0.0]), u([1.0, 1.0, 1.0]), u([1.0, -1.0, 0.5]));
    let xi = |e: &Tensor<2>, f: &Tensor<2>, r: &Tensor<2>| {
        values(radial::exterior_angle(e.clone(), f.clone(), r.clone()))[0]
    };
    let pairs = [(&e, &f, &r), (&e, &g, &r), (&f, &e, &r), (&e, &f, &zero)];
    let found = pairs.map(|(e, f, r)| xi(e, f, r));
    let known = [
        1.686_974_395_656,
        2.660_560_316_423,
        2.168_108_677_979,
        1.878_536_181_130,
    ];
    close(&found, &known, 1e-9);
    let theta = radial::half_aperture(e.clone(), r.clone());
    close(&values(theta), &[0.065_374_705_264], 1e-9);
    // notation 9.6, the tangents of 9.1 about zero.
    let a = tensor(vec![0.3, -0.2, 0.5], [1, 3], &device);
    let b = tensor(vec![-0.1, 0.4, 0.25], [1, 3], &device);
    close(&[xi(&a, &b, &zero)], &[2.458_787_723_035], 1e-9);
    let pairwise = radial::pairwise_exterior_angle(a, b);
    close(&values(pairwise), &[2.458_787_723_035], 1e-9);
}

/// Returns the vector of text `k` in notation 9.3.
fn text(k: usize) -> [f64; 4] {
    let k = k as f64;
    std::array::from_fn(|j| {
        let first = if j == 0 { 1.0 } else { 0.0 };
        (1.0 + 0.7 * k + 0.3 * j as f64 * (1.0 + k)).sin() + first
    })
}

fn toy_chains(device: &Device) -> Chains {
    let texts = |first: usize| (0..8).map(move |at| first + 8 * (at / 4) + at % 4);
    let of = |first| {
        let v = texts(first).flat_map(text).collect();
        normalize(tensor(v, [2, 4, 4], device))
    };
    let frozen = texts(1).chain(texts(5)).flat_map(|k| {
        let (v, w) = (text(k), text(k + 50));
        std::array::from_fn::<f64, 4, _>(|j| v[j] + 0.1 * w[j])
    });
    Chains {
        positives: of(1),
        negatives: of(5),
        root: unit(&text(0), device),
        frozen: Some(normalize(tensor(frozen.collect(), [16, 4], device))),
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
    let loss = |term| total(&espalier_core::loss::radial(&chains, weights(term)));
    let margin = 10.0;
    let cone = PairTerm::Cone {
        margin,
        side: MarginSide::Outside,
    };
    let (re, ec) = (loss(PairTerm::Angle), loss(cone));
    // Theta cancels between the pair; both terms carry the margin.
    close(&[ec - 2.0 * margin], &[re], 1e-9);
}

/// Returns the chain of `e` and `f` of the reference angles, with the negative `g` of `e`.
fn chain_of_two(device: &Device) -> Chains {
    let u = |v: [f64; 3]| unit(&v, device).unsqueeze::<3>();
    let (e, f, g) = (u([1.0, 1.0, 0.0]), u([1.0, 1.0, 1.0]), u([1.0, -1.0, 0.5]));
    Chains {
        positives: Tensor::cat(vec![e, f.clone()], 1),
        negatives: Tensor::cat(vec![g, f], 1),
        root: unit(&[1.0, 0.0, 0.0], device),
        frozen: None,
    }
}

#[test]
fn a_margin_lies_outside_or_inside_of_the_cone() {
    let chains = chain_of_two(&Device::flex());
    // The angles toward f and g, minus the half-aperture at e.
    let (toward_f, toward_g) = (1.621_599_690_392, 2.660_560_316_423 - 0.065_374_705_264);
    let found = |side, margin| {
        let term = PairTerm::Cone { margin, side };
        let weights = RadialWeights {
            term,
            ..RadialWeights::default()
        };
        let loss = espalier_core::loss::radial(&chains, weights);
        ["entail_positive", "entail_negative"].map(|name| self::term(&loss, name))
    };
    use MarginSide::{Inside, Outside};
    let expect = |side, margin, expected: [f64; 2]| close(&found(side, margin), &expected, 1e-9);
    expect(Outside, 0.0, [toward_f, 0.0]);
    expect(Outside, 0.5, [toward_f + 0.5, 0.0]);
    expect(Outside, 3.0, [toward_f + 3.0, 3.0 - toward_g]);
    expect(Inside, 0.5, [toward_f + 0.5, 0.0]);
    expect(Inside, -2.0, [0.0, 0.0]);
    expect(Inside, -3.0, [0.0, 3.0 - toward_g]);
}

#[test]
fn each_term_of_re_has_its_weight() {
    let chains = toy_chains(&Device::flex());
    let loss = |weights| espalier_core::loss::radial(&chains, weights);
    let found = loss(RadialWeights {
        mined: 0.25,
        pull_back: 4.0,
        negatives: 0.5,
        ..RadialWeights::default()
    });
    let [entail, mined, back] = ["entail", "mined", "pull_back"].map(|name| term(&found, name));
    let sum = entail + 0.25 * mined + 4.0 * back;
    close(&[total(&found)], &[sum], 1e-12);
    let whole = loss(RadialWeights::default());
    let negative = |loss| term(loss, "entail_negative");
    close(&[negative(&found)], &[0.5 * negative(&whole)], 1e-12);
}

#[test]
fn each_term_of_rcme_has_its_weight() {
    let device = Device::flex();
    let l = lineage(&device);
    let all = Tensor::cat(vec![l.texts.clone(), l.negatives.clone()], 1);
    let images = vec![0.6, 0.8, 0.0, 0.0, 0.0, 0.6, 0.0, 0.8];
    let two = Lineages {
        texts: l.texts.repeat_dim(0, 2),
        negatives: l.negatives.flip([1]).repeat_dim(0, 2),
        root: l.root,
        images: Some(tensor(images, [2, 4], &device)),
        frozen: Some(all.reshape([13, 4]).repeat_dim(0, 2) * 0.5),
    };
    let weights = RcmeWeights {
        global: 0.3,
        local: 0.7,
        beta: 0.2,
        prior: 0.4,
        margin: 0.5,
        ..RcmeWeights::default()
    };
    let found = rcme(&two, scalar(2.0, &device), weights);
    let names = ["entail_global", "entail_local", "contrastive", "pull_back"];
    let terms = names.map(|name| term(&found, name));
    assert!(terms.iter().all(|value| *value != 0.0), "{terms:?}");
    let sum = [0.3, 0.7, 0.2, 0.4].iter().zip(terms);
    close(&[total(&found)], &[sum.map(|(w, t)| w * t).sum()], 1e-12);
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

fn rcme_of_lineage(weights: RcmeWeights) -> LossTerms {
    let device = Device::flex();
    rcme(&lineage(&device), scalar(1.0, &device), weights)
}

#[test]
fn rcme_on_the_toy_lineage_has_the_reference_terms() {
    let weights = |margin| RcmeWeights {
        margin,
        ..RcmeWeights::default()
    };
    let found = |margin, name| term(&rcme_of_lineage(weights(margin)), name);
    let global = [FRAC_PI_2, 0.0].map(|margin| found(margin, "entail_global"));
    close(&global, &[1.357_203_997_400, 0.039_702_822_434 / 5.0], 1e-7);
    close(&[found(0.0, "entail_local")], &[0.0], 1e-12);
}

#[test]
fn rcme_on_a_straight_lineage_has_the_clipped_angle() {
    let device = Device::flex();
    let at = |steps: &[f64]| -> Vec<f64> { steps.iter().flat_map(|s| [1.0, *s, 0.0]).collect() };
    let straight = Lineages {
        texts: tensor(at(&[1.0, 2.0, 3.0]), [1, 3, 3], &device),
        negatives: tensor(at(&[2.0, 3.0]), [1, 2, 3], &device),
        root: tensor(at(&[0.0]), [1, 3], &device),
        images: None,
        frozen: None,
    };
    let weights = RcmeWeights {
        margin: 0.1,
        ..RcmeWeights::default()
    };
    let found = rcme(&straight, scalar(1.0, &device), weights);
    // The angle of the cosine 1 - 1e-7: it is clipped, because the gradient of acos is infinite at 1.
    let angle = 4.472_136e-4;
    close(&[term(&found, "entail_global")], &[0.1 - angle], 1e-6);
}

#[test]
fn rcme_pulls_texts_back_to_a_frozen_model() {
    let device = Device::flex();
    let found = |scale: f64| {
        let l = lineage(&device);
        let all = Tensor::cat(vec![l.texts.clone(), l.negatives.clone()], 1);
        let frozen = Some(all.reshape([13, 4]) * scale);
        let lineages = Lineages { frozen, ..l };
        rcme(&lineages, scalar(1.0, &device), RcmeWeights::default())
    };
    let without = total(&rcme_of_lineage(RcmeWeights::default()));
    for (scale, expected) in [(1.0, 0.0), (0.0, 1.0), (-1.0, 2.0)] {
        let found = found(scale);
        close(&[term(&found, "pull_back")], &[expected], 1e-9);
        close(&[total(&found) - without], &[expected], 1e-9);
    }
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
    let found: [f64; 6] = std::array::from_fn(|i| xi(i, i + 1));
    close(&found, &known, 1e-9);
    let known = [
        0.531_641_920_737,
        0.953_360_846_116,
        1.064_332_827_196,
        1.343_068_404_419,
        1.610_499_149_229,
    ];
    let found: [f64; 5] = std::array::from_fn(|i| xi(i, i + 2));
    close(&found, &known, 1e-9);
}

#[test]
fn angles_from_the_parent_differ_from_those_from_the_root_after_the_first_rank() {
    let weights = |root_mode| RcmeWeights {
        root_mode,
        ..RcmeWeights::default()
    };
    let of = |mode| term(&rcme_of_lineage(weights(mode)), "entail_global");
    assert!((of(RootMode::Root) - of(RootMode::Parent)).abs() > 1e-2);
}
