//! Comparison with an independent implementation in float64 (`tests/golden/gen_eval.py`).

use std::collections::BTreeMap;

use espalier_core::geometry::{DistanceReduction, Space};
use espalier_trainer::eval::Points;
use espalier_trainer::eval::matching::{Chains, Walk, metrics};
use espalier_trainer::eval::metrics::correlation::spearman;
use espalier_trainer::eval::metrics::pairs::{Pairs, two_fold};
use espalier_trainer::eval::metrics::recall;
use espalier_trainer::eval::metrics::steps::{Radii, linspace};
use espalier_trainer::eval::search::{scores, top_k};

fn golden() -> BTreeMap<String, f64> {
    let text = include_str!("../../../golden/eval.tsv");
    let rows = text.lines().skip(2);
    let rows = rows.map(|line| line.split_once('\t').unwrap());
    rows.map(|(name, value)| (name.to_owned(), value.parse().unwrap()))
        .collect()
}

/// Returns the counterpart of `numbers` in the generator.
fn numbers(seed: usize, count: usize) -> Vec<f64> {
    let one = |at: usize| {
        let wave = (at as f64 * 12.9898 + seed as f64 * 78.233).sin() * 437.585453;
        2.0 * (wave - wave.floor()) - 1.0
    };
    (0..count).map(one).collect()
}

fn unit(row: &[f64]) -> Vec<f64> {
    let norm = row.iter().map(|v| v * v).sum::<f64>().sqrt();
    row.iter().map(|v| v / norm).collect()
}

/// Returns the counterpart of `cloud` in the generator, before rounding.
fn cloud(seed: usize, n: usize, width: usize, on_sphere: bool) -> Vec<Vec<f64>> {
    let all = numbers(seed, n * width);
    let rows = all.chunks(width);
    rows.map(|row| if on_sphere { unit(row) } else { row.to_vec() })
        .collect()
}

fn points(rows: &[Vec<f64>]) -> Points {
    let narrow = |row: &Vec<f64>| -> Vec<f32> { row.iter().map(|v| *v as f32).collect() };
    Points::from_rows(&rows.iter().map(narrow).collect::<Vec<_>>())
}

fn product(curvatures: &[f64]) -> Space {
    Space::Product {
        curvatures: curvatures.to_vec(),
        join: DistanceReduction::L1,
    }
}

/// Returns the value rounded to `f32` and back, as the generator's clouds are.
fn rounded(rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let round = |row: &Vec<f64>| row.iter().map(|v| f64::from(*v as f32)).collect();
    rows.iter().map(round).collect()
}

fn check(golden: &BTreeMap<String, f64>, name: &str, found: f64) {
    let known = golden[name];
    let off = (found - known).abs();
    assert!(off < 1e-9, "{name}: expected {known}, found {found}");
}

fn check_matching(name: &str, space: &Space, images: &Points, chains: Chains<'_>, walk: Walk) {
    let (golden, found) = (golden(), metrics(space, images, chains, walk));
    for metric in ["precision", "recall", "d_corr"] {
        check(&golden, &format!("{name} {metric}"), found[metric]);
    }
}

#[test]
fn the_toy_of_hierarcaps_has_its_published_and_all_other_values() {
    let at = |r: f64, a: f64| {
        let (r, a) = (r.to_radians(), a.to_radians());
        vec![r.cos(), r.sin() * a.cos(), r.sin() * a.sin()]
    };
    let named = [
        ("a1", 20.0, 0.0),
        ("a2", 30.0, 5.0),
        ("a3", 45.0, 10.0),
        ("a4", 60.0, 12.0),
        ("a1", 20.0, 0.0),
        ("a2x", 33.0, -20.0),
        ("a3x", 50.0, -22.0),
        ("a4x", 63.0, -25.0),
        ("b1", 22.0, 120.0),
        ("b2", 34.0, 110.0),
        ("b3", 50.0, 118.0),
        ("b4", 48.0, 122.0),
        ("c1", 25.0, 240.0),
        ("c2", 28.0, 250.0),
        ("c3", 52.0, 245.0),
        ("c4", 66.0, 238.0),
    ];
    let names = named.map(|(name, ..)| name.to_owned());
    let texts: Vec<Vec<String>> = names.chunks(4).map(<[String]>::to_vec).collect();
    let text_points = points(&named.map(|(_, r, a)| at(r, a)));
    let images = points(&[at(75.0, 8.0), at(70.0, 100.0), at(72.0, 255.0)]);
    let space = Space::Sphere {
        root: vec![1.0, 0.0, 0.0],
    };
    let chains = Chains {
        texts: &texts,
        points: &text_points,
        of_image: &[vec![0, 1], vec![2], vec![3]],
    };
    // notation 9.4.
    let walk = |steps| Walk {
        radii: Radii::Global,
        steps,
        drop_first: false,
    };
    for (steps, precision, recall) in [
        (50, 0.866_666_666_667, 1.0),
        (5, 0.833_333_333_333, 0.833_333_333_333),
    ] {
        let found = metrics(&space, &images, chains, walk(steps));
        assert!((found["precision"] - precision).abs() < 1e-9);
        assert!((found["recall"] - recall).abs() < 1e-9);
        assert!((found["d_corr"] - 0.916_666_666_667).abs() < 1e-9);
    }
    for steps in [50, 5] {
        for (word, drop_first) in [("False", false), ("True", true)] {
            for (radii_word, radii) in [("global", Radii::Global), ("per_image", Radii::PerImage)] {
                let name = format!("toy {steps} {radii_word} {word}");
                let walk = Walk {
                    radii,
                    drop_first,
                    ..walk(steps)
                };
                check_matching(&name, &space, &images, chains, walk);
            }
        }
    }
}

#[test]
fn walks_in_hyperbolic_spaces_are_those_of_plain_loops() {
    let mut texts: Vec<Vec<String>> = (0..15)
        .map(|i| (0..4).map(|t| format!("{i} {t}")).collect())
        .collect();
    let shared = texts[1][0].clone();
    texts[3][0].clone_from(&shared);
    texts[9][1] = shared;
    let scale = [0.3, 0.6, 0.9, 1.2];
    let rows: Vec<Vec<f64>> = rounded(&cloud(2, 60, 6, false))
        .iter()
        .enumerate()
        .map(|(i, row)| row.iter().map(|v| v * scale[i % 4]).collect())
        .collect();
    let (text_points, images) = (points(&rows), points(&cloud(1, 12, 6, false)));
    let mut of_image = vec![Vec::new(); 12];
    for chain in 0..15 {
        of_image[chain % 12].push(chain);
    }
    let chains = Chains {
        texts: &texts,
        points: &text_points,
        of_image: &of_image,
    };
    for (name, space) in [
        ("lorentz", Space::Lorentz { curvature: 0.7 }),
        ("product", product(&[0.5, 2.0])),
    ] {
        for (radii_word, radii) in [("global", Radii::Global), ("per_image", Radii::PerImage)] {
            let walk = Walk {
                radii,
                steps: 20,
                drop_first: false,
            };
            let name = format!("cloud {name} {radii_word}");
            check_matching(&name, &space, &images, chains, walk);
        }
    }
}

#[test]
fn recall_both_ways_is_that_of_whole_matrices() {
    let golden = golden();
    let spaces = [
        ("sphere", Space::Sphere { root: vec![0.0; 8] }),
        ("lorentz", Space::Lorentz { curvature: 0.4 }),
        ("product", product(&[0.5, 1.0, 2.0, 1.5])),
    ];
    for (name, space) in spaces {
        let on_sphere = name == "sphere";
        let images = rounded(&cloud(3, 50, 8, on_sphere));
        let texts: Vec<Vec<f64>> = rounded(&cloud(4, 150, 8, false))
            .iter()
            .enumerate()
            .map(|(i, noise)| {
                let pairs = noise.iter().zip(&images[i / 3]);
                let mixed: Vec<f64> = pairs.map(|(a, b)| a + b).collect();
                if on_sphere { unit(&mixed) } else { mixed }
            })
            .collect();
        let (images, texts) = (points(&images), points(&texts));
        let of_image: Vec<Vec<u32>> = (0..50).map(|i| vec![3 * i, 3 * i + 1, 3 * i + 2]).collect();
        let of_text: Vec<Vec<u32>> = (0..150).map(|t| vec![t / 3]).collect();
        let to_texts = top_k(&space, &images, &texts, 11);
        let to_images = top_k(&space, &texts, &images, 11);
        for k in [1, 5, 10] {
            let text = recall::recall_at(&to_texts, &of_image, k).value;
            let image = recall::recall_at(&to_images, &of_text, k).value;
            check(&golden, &format!("retrieval {name} text@{k}"), text);
            check(&golden, &format!("retrieval {name} image@{k}"), image);
        }
    }
}

#[test]
fn rank_correlation_with_ties_is_that_of_average_ranks() {
    let round = |v: f64| (10.0 * v).round_ties_even() / 10.0;
    let x: Vec<f64> = numbers(5, 40).into_iter().map(round).collect();
    let pairs = numbers(6, 40).into_iter().zip(&x);
    let y: Vec<f64> = pairs.map(|(a, b)| round(a + b)).collect();
    check(&golden(), "spearman", spearman(&x, &y).unwrap());
}

#[test]
fn pairs_of_labels_are_ranked_and_judged_in_two_folds() {
    let golden = golden();
    let labels = rounded(&cloud(7, 12, 6, true));
    let root = rounded(&cloud(8, 1, 6, true)).remove(0);
    let space = Space::Sphere {
        root: root.iter().map(|v| *v as f32).collect(),
    };
    let label_points = points(&labels);
    let radii: Vec<f64> = label_points.rows().map(|p| space.radius(p)).collect();
    let angle = |x: usize, y: usize| space.exterior_angle(label_points.row(x), label_points.row(y));
    let pairs = Pairs::all(&radii, angle);
    assert_eq!(pairs.ends.len(), 66);
    let shown: Vec<usize> = (0..31).map(|i| 7 * i % 66).collect();
    let noise = rounded(&cloud(9, 31, 6, false));
    let images: Vec<Vec<f64>> = shown
        .iter()
        .zip(&noise)
        .map(|(at, noise)| {
            let (x, y) = pairs.ends[*at];
            let both = labels[x as usize].iter().zip(&labels[y as usize]);
            let mixed: Vec<f64> = both.zip(noise).map(|((a, b), n)| a + b + 1.5 * n).collect();
            unit(&mixed)
        })
        .collect();
    let images = points(&images);
    for (word, sign) in [("plus", 1.0), ("minus", -1.0)] {
        let weights = linspace(0.0, 0.2, 20);
        let weights: Vec<f32> = weights.iter().map(|w| (sign * w) as f32).collect();
        let ranks = scores(&space, &images, &label_points, |i, similar| {
            (i % 10 != 9).then(|| pairs.ranks(similar, shown[i], &weights))
        });
        for k in [1, 5, 20] {
            let (value, _) = two_fold(&ranks, weights.len(), k);
            check(&golden, &format!("breeds {word} {k}"), value);
        }
    }
}
