//! Visual hierarchies (notation 9.6), ATMG, and the functions on which they are built.

use burn::tensor::{Device, Tensor};
use espalier_core::geometry::{cone, lorentz};
use espalier_core::loss::{ImageApex, atmg, parts};
use espalier_fixtures::{close, values};

use super::{SCALE, features, relations, scalar, tensor, term, total};

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
        let related = relations(pairs, &device);
        let scale = scalar(SCALE, &device);
        let loss = parts(whole.clone(), part.clone(), c.clone(), scale, &related);
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
    let related = relations(&all, &device);
    let scale = scalar(SCALE, &device);
    let loss = parts(lift(0), lift(2), c.clone(), scale, &related);
    close(&[total(&loss)], &[0.0], 1e-12);
}

#[test]
fn pairwise_angles_are_the_angles_of_the_pairs() {
    let device = Device::flex();
    let c = scalar::<2>(0.7, &device);
    let lift = |role| lorentz::exp_map0(features(role, &device), c.clone());
    let (x, y) = (lift(0), lift(3));
    let all = cone::pairwise_exterior_angle(x.clone(), y.clone(), c.clone());
    let all = values(all);
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
    let sum = term(&loss, "contrastive") + 0.5 * centroids;
    close(&[total(&loss)], &[sum], 1e-12);
    // The angle at a text as logits, by hand.
    let angles = |apex: &Tensor<2>, other: &Tensor<2>| {
        let angles = cone::pairwise_exterior_angle(apex.clone(), other.clone(), c.clone());
        values(angles)
    };
    let (angles, back) = (angles(&text, &image), angles(&image, &text));
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
    let known = 0.5 * (ce(&scaled(&angles, -SCALE)) + ce(&scaled(&back, -SCALE)));
    let minimised = of(ImageApex::Minimised, 0.0);
    close(&[term(&minimised, "contrastive")], &[known], 1e-9);
}
