//! Reference values of the losses on the toy batch (notation 9.2), and finite gradients.

use burn::tensor::{DType, Device, Tensor, TensorData};
use espalier_core::geometry::{AngleFormula, lorentz};
use espalier_core::loss::{HycoclipWeights, LossTerms, clip, hycoclip};
use espalier_core::math::normalize;
use espalier_fixtures::{close, toy_features, values};

use super::methods::{SCALE, term, with_boxes};

fn scalar<const D: usize>(v: f64, device: &Device, dtype: DType) -> Tensor<D> {
    Tensor::<1>::from_data(TensorData::new(vec![v], [1]), (device, dtype)).reshape([1; D])
}

fn toy_hycoclip(curv: f64, form: AngleFormula, device: &Device, dtype: DType) -> LossTerms {
    let c = scalar::<2>(curv, device, dtype);
    let lift = |role| lorentz::exp_map0(toy_features(role, device, dtype), c.clone());
    let weights = HycoclipWeights {
        form,
        ..HycoclipWeights::default()
    };
    let scale = scalar(SCALE, device, dtype);
    hycoclip(&with_boxes(lift), c.clone(), scale, weights)
}

const TABLE: [(f64, [f64; 7]); 2] = [
    (
        1.0,
        [
            5.484_990_101_183,
            1.765_832_627_733,
            1.648_802_094_833,
            2.650_096_464_754,
            2.188_081_218_437,
            4.126_406_202_879,
            6.310_271_341_759,
        ],
    ),
    (
        0.5,
        [
            5.467_449_319_926,
            1.575_866_693_243,
            1.479_617_127_521,
            2.475_091_427_772,
            1.936_560_962_849,
            3.733_568_105_692,
            6.214_162_941_064,
        ],
    ),
];

fn hycoclip_terms(loss: &LossTerms) -> [f64; 7] {
    [
        term(loss, "contrastive"),
        term(loss, "entail_text_image"),
        term(loss, "entail_box_text_image"),
        term(loss, "entail_box_image_image"),
        term(loss, "entail_box_text_text"),
        term(loss, "entail"),
        values(loss.total.clone())[0],
    ]
}

#[test]
fn hycoclip_on_the_toy_batch_has_the_reference_terms_in_f64() {
    let device = Device::flex();
    for (c, known) in TABLE {
        let literal = toy_hycoclip(c, AngleFormula::Literal(1e-8), &device, DType::F64);
        close(&hycoclip_terms(&literal), &known, 1e-9);
        // The stable angles differ from the published ones by the eps in their denominators.
        let stable = toy_hycoclip(c, AngleFormula::Stable, &device, DType::F64);
        close(&hycoclip_terms(&stable), &known, 1e-6);
    }
}

#[test]
fn hycoclip_on_the_toy_batch_has_the_reference_terms_in_f32() {
    let device = Device::flex();
    for (c, known) in TABLE {
        let found = hycoclip_terms(&toy_hycoclip(c, AngleFormula::Stable, &device, DType::F32));
        for (f, k) in found.iter().zip(known) {
            assert!(
                (f - k).abs() <= 1e-5 * k,
                "c = {c}: expected {k}, found {f}"
            );
        }
    }
}

#[test]
fn clip_on_the_toy_batch_has_the_reference_value() {
    let device = Device::flex();
    let unit = |role| normalize(toy_features(role, &device, DType::F64));
    let loss = clip(unit(0), unit(1), scalar(SCALE, &device, DType::F64));
    close(&values(loss.total), &[7.421_203_480_009], 1e-9);
}

/// A phrase that is the whole caption and a box that covers the image give identical embeddings.
#[test]
fn a_batch_of_identical_points_has_a_finite_loss_and_finite_gradients() {
    let device = Device::flex().autodiff();
    for v in [0.0_f32, 1e-30, 0.4, 1e30] {
        let leaf = Tensor::<2>::full([3, 4], v, &device).require_grad();
        let c = Tensor::<2>::from_floats([[1.0]], &device);
        let x = lorentz::exp_map0(leaf.clone(), c.clone());
        let points = with_boxes(|_| x.clone());
        let scale = Tensor::<1>::from_floats([14.0], &device);
        let loss = hycoclip(&points, c, scale, HycoclipWeights::default());
        assert!(values(loss.total.clone())[0].is_finite());
        let gradient = values(leaf.grad(&loss.total.backward()).unwrap());
        assert!(gradient.iter().all(|g| g.is_finite()), "{v}: {gradient:?}");
    }
}

#[test]
fn images_without_a_label_take_no_part_in_the_contrast_with_labels() {
    let device = Device::flex();
    let g = [[0.2_f32, -0.4, 0.1], [0.5, 0.3, -0.2], [0.9, 0.1, 0.4]];
    let targets = [[0.9_f32, 0.1, 0.0], [0.0, 0.0, 0.0], [0.0, 0.2, 0.8]];
    let scale = 3.0_f64;
    let mut sum = 0.0;
    for (row, target) in g.iter().zip(&targets) {
        let logits = row.map(|v| scale * f64::from(v));
        let all: f64 = logits.iter().map(|l| l.exp()).sum();
        for (l, t) in logits.iter().zip(target) {
            sum -= f64::from(*t) * (l - all.ln());
        }
    }
    let found = espalier_core::loss::label_contrast(
        Tensor::from_floats(g, &device),
        Tensor::from_floats(targets, &device),
        Tensor::from_floats([scale as f32], &device),
    );
    let found = f64::from(found.into_scalar::<f32>());
    assert!(
        (found - sum / 2.0).abs() < 1e-6,
        "found {found}, expected {}",
        sum / 2.0
    );
}
