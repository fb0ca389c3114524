//! Heat maps and two subjects, on the shipped models.

use burn::tensor::Device;
use espalier_core::caption::{Captioner, Claim, Engine, HeatMap};
use espalier_core::model::Arithmetic;
use espalier_tests::browser::sample;
use espalier_tests::models::{captioner, captioner_with, shipped, tiny};
use espalier_tests::photos::side_by_side;
use image::imageops::{FilterType, replace, resize};
use image::{Rgb, RgbImage};
use pollster::block_on;

/// WordNet's id of "cat, true cat".
const CAT: &str = "n02121620";

fn photo(name: &str) -> RgbImage {
    image::open(sample(name)).unwrap().to_rgb8()
}

/// Returns a grey photo of 400 pixels with a sample in a square of it.
fn in_a_corner(name: &str, at: i64, side: u32) -> RgbImage {
    let mut canvas = RgbImage::from_pixel(400, 400, Rgb([127; 3]));
    let sample = resize(&photo(name), side, side, FilterType::Triangle);
    replace(&mut canvas, &sample, at, at);
    canvas
}

fn heat(captioner: &Captioner, photo: &RgbImage, node: &str) -> (HeatMap, u64) {
    let mut reported = 0;
    let occlusions = captioner.occlusions(photo, |done, _| reported = done);
    let occlusions = block_on(occlusions).unwrap();
    let claim = Claim::Node(captioner.classifier().node(node).unwrap());
    (captioner.heat(&occlusions, &claim), reported)
}

#[test]
fn the_heat_of_a_cat_lies_on_the_cat_and_is_the_same_on_kernels_and_backend() {
    let photo = in_a_corner("cat", 40, 150);
    let kernels = captioner(&shipped(), &Engine::Kernels);
    let (map, reported) = heat(&kernels, &photo, CAT);
    assert_eq!((map.rows, map.columns, reported), (7, 7, 0));
    let inside = map.share_inside([0.0, 0.0, 0.5, 0.5]).unwrap();
    assert!(inside > 0.6, "{inside} of a quarter");
    let [floats, device] = [Engine::Kernels, Engine::Device(Device::flex())].map(|engine| {
        let captioner = captioner_with(&shipped(), &engine, Arithmetic::Float32);
        heat(&captioner, &photo, CAT).0
    });
    for (a, b) in floats.values.iter().zip(&device.values) {
        assert!((a - b).abs() < 1e-2, "{a} and {b}");
    }
}

#[test]
fn the_heat_of_a_statement_lies_on_what_it_tells() {
    let captioner = captioner(&shipped(), &Engine::Kernels);
    let photo = in_a_corner("canoes", 200, 180);
    let occlusions = block_on(captioner.occlusions(&photo, |_, _| ())).unwrap();
    for caption in ["people", "people in a boat"] {
        let claim = captioner.claim(caption).unwrap();
        let map = captioner.heat(&occlusions, &claim);
        let inside = map.share_inside([0.5, 0.5, 1.0, 1.0]).unwrap();
        assert!(inside > 0.5, "{caption}: {inside} of a quarter");
    }
}

#[test]
fn an_encoder_whose_places_see_each_other_is_read_with_painted_cells() {
    let captioner = captioner(&tiny(), &Engine::Kernels);
    let taxonomy = captioner.classifier().taxonomy();
    let node = taxonomy.node(taxonomy.labelled()[0]).id.clone();
    let (map, reported) = heat(&captioner, &photo("cat"), &node);
    assert_eq!((map.rows, map.columns, reported), (6, 6, 36));
    assert!(map.values.iter().all(|v| (0.0..=1.0).contains(v)));
    assert!(map.values.contains(&1.0));
}

#[test]
fn a_caption_claims_its_node_and_a_longer_one_its_text() {
    let captioner = captioner(&shipped(), &Engine::Kernels);
    let entries = captioner.index().entries();
    let name = entries.iter().find(|e| e.detail == 0 && e.node.is_some());
    let name = name.unwrap();
    let node = captioner.classifier().node(name.node.as_ref().unwrap());
    let claimed = captioner.claim(&name.text);
    assert_eq!(claimed, Some(Claim::Node(node.unwrap())));
    assert_eq!(captioner.claim("no caption of this model"), None);
    let rowing = captioner.claim("people rowing a boat");
    assert!(
        matches!(&rowing, Some(Claim::Statement(None, parts)) if parts.len() > 1),
        "{rowing:?}"
    );
    let cat = captioner.classifier().node(CAT).unwrap();
    let on_grass = captioner.claim("a cat on grass");
    assert!(
        matches!(on_grass, Some(Claim::Statement(Some(node), _)) if node == cat),
        "{on_grass:?}"
    );
    if let Some(longer) = entries.iter().find(|e| e.detail > 0) {
        let claimed = captioner.claim(&longer.text);
        assert!(matches!(claimed, Some(Claim::Text(_))), "{claimed:?}");
    }
}

#[test]
fn two_photos_side_by_side_are_two_subjects_and_one_alone_is_none() {
    let captioner = captioner(&shipped(), &Engine::Kernels);
    let names = |photo: &RgbImage| -> Vec<String> {
        let found = block_on(captioner.subjects(photo, |_, _| ())).unwrap();
        found.into_iter().map(|subject| subject.name).collect()
    };
    let mut found = names(&side_by_side(&photo("barn"), &photo("cat")));
    found.sort();
    assert_eq!(found, ["barn", "cat"]);
    for name in ["coffee", "cat", "barn"] {
        assert!(names(&photo(name)).is_empty(), "{name}");
    }
    assert!(names(&RgbImage::new(1, 1)).is_empty());
}
