//! MERU and PHyCLIP on the toy batch (notation 9.2).

use burn::tensor::Device;
use espalier_core::geometry::{AngleFormula, DistanceReduction, lorentz, product};
use espalier_core::loss::{HycoclipWeights, meru, phyclip};
use espalier_fixtures::{close, values};

use super::{SCALE, features, scalar, tensor, term, total, with_boxes};

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
        let loss = |form| {
            let scale = scalar(SCALE, &device);
            meru(lift(0), lift(1), c.clone(), scale, 0.2, form)
        };
        let literal = loss(AngleFormula::Literal(1e-8));
        let found = ["contrastive", "entail"].map(|name| term(&literal, name));
        close(&found, &[contrastive, entail], 1e-9);
        close(&[total(&literal)], &[all], 1e-9);
        // The stable angles differ from the published ones by the eps in their denominators.
        close(&[total(&loss(AngleFormula::Stable))], &[all], 1e-6);
    }
}

#[test]
fn phyclip_on_the_toy_batch_has_the_reference_terms() {
    let device = Device::flex();
    use DistanceReduction::{L1, L2};
    let known = [
        (
            L1,
            [1.0, 1.0],
            [3.931_851_173_853, 3.551_808_764_359],
            4.642_212_926_725,
        ),
        (
            L1,
            [0.5, 2.0],
            [3.930_537_480_969, 3.589_467_663_330],
            4.648_431_013_635,
        ),
        (
            L2,
            [1.0, 1.0],
            [3.907_204_824_434, 3.551_808_764_359],
            4.617_566_577_306,
        ),
        (
            L2,
            [0.5, 2.0],
            [3.907_685_470_980, 3.589_467_663_330],
            4.625_579_003_645,
        ),
    ];
    for (join, curvs, terms, all) in known {
        let c = tensor(curvs.to_vec(), [2, 1, 1], &device);
        let lift = |role| lorentz::exp_map0(product::split(features(role, &device), 2), c.clone());
        let weights = HycoclipWeights {
            form: AngleFormula::Literal(1e-6),
            ..HycoclipWeights::default()
        };
        let (points, scale) = (with_boxes(lift), scalar(SCALE, &device));
        let loss = phyclip(&points, c.clone(), scale, join, weights);
        let found = ["contrastive", "entail"].map(|name| term(&loss, name));
        close(&found, &terms, 1e-8);
        close(&[total(&loss)], &[all], 1e-8);
        if join == L1 && curvs[0] == 0.5 {
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
    let join = DistanceReduction::L1;
    let dist = product::pairwise_dist(image.clone(), text.clone(), c.clone(), join);
    let known = [0.321_908_173_456, 0.748_549_591_685, 1.151_200_189_621];
    close(&values(dist)[..3], &known, 1e-9);
    let score = product::pairwise_inner(image.clone(), text, c);
    let known = [-2.639_391_878_816, -3.189_784_479_678, -4.151_278_375_688];
    close(&values(score)[..3], &known, 1e-9);
    let features = features(0, &device);
    let joined = product::flatten(product::split(features.clone(), 2));
    close(&values(joined), &values(features), 1e-15);
}
