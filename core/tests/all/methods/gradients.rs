//! Gradients against central differences, and finite gradients where directions vanish.

use std::f64::consts::PI;

use burn::tensor::{Device, Tensor};
use espalier_core::geometry::{DistanceReduction, lorentz, product};
use espalier_core::loss::{
    Chains, HycoclipWeights, Lineages, LossTerms, MarginSide, PairTerm, RadialWeights, RcmeWeights,
    RootMode, hycoclip, parts, phyclip, rcme,
};
use espalier_core::math::normalize;
use espalier_fixtures::values;

use super::{SCALE, features, relations, scalar, tensor, total, with_boxes};

/// Asserts that the gradient of every entry equals its central difference.
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
            "entry {i}: expected {known}, found {found}"
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
            let rows = input.clone().narrow(0, from, 10 * ranks);
            normalize(rows.reshape([2, ranks, 5]))
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
        let loss = parts(cut(0), cut(12), c.clone(), scalar(3.0, device), &related);
        (loss.total, input)
    });
}

#[test]
fn gradients_of_products_agree_with_finite_differences() {
    differentiates(&spread(4 * 3 * 4 + 2), |v, device| {
        let input = tensor(v.to_vec(), [v.len()], device).require_grad();
        let c = input.clone().narrow(0, 48, 2).exp().reshape([2, 1, 1]);
        let points = with_boxes(|role| {
            let tangent = input.clone().narrow(0, 12 * role, 12).reshape([3, 4]);
            lorentz::exp_map0(product::split(tangent, 2), c.clone())
        });
        let (scale, join) = (scalar(3.0, device), DistanceReduction::L2);
        let loss = phyclip(&points, c.clone(), scale, join, HycoclipWeights::default());
        (loss.total, input)
    });
}

/// With respect to the tangent features of the toy batch and the logarithm of the curvature.
#[test]
fn gradients_of_boxes_agree_with_finite_differences() {
    let roles = (0..4).flat_map(|role| values(features(role, &Device::flex())));
    let base: Vec<f64> = roles.chain([0.7_f64.ln()]).collect();
    differentiates(&base, |v, device| {
        let input = tensor(v.to_vec(), [v.len()], device).require_grad();
        let c = input.clone().narrow(0, 48, 1).exp().reshape([1, 1]);
        let points = with_boxes(|role| {
            let tangent = input.clone().narrow(0, 12 * role, 12).reshape([3, 4]);
            lorentz::exp_map0(tangent, c.clone())
        });
        let weights = HycoclipWeights::default();
        let loss = hycoclip(&points, c.clone(), scalar(SCALE, device), weights);
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
        let gradient = values(one.grad(&loss.total.backward()).unwrap());
        assert!(gradient.iter().all(|g| g.is_finite()));
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
