//! Heat maps of both models: of places that see each other, and of places that do not.

use burn::tensor::Device;
use espalier_core::caption::{Claim, Engine};
use espalier_core::model::Arithmetic;
use espalier_fixtures::models::{captioner, captioner_with, shipped, tiny};
use espalier_fixtures::photos::landscape;

#[test]
fn every_place_of_a_photo_has_its_heat() {
    let photo = landscape(320, 240);
    // Places of the tiny model's encoder see each other, so the photo is read once for each of them.
    for (model, is_repeated) in [(tiny(), true), (shipped(), false)] {
        let captioner = captioner(&model, &Engine::Kernels);
        let (space, classifier) = (captioner.space(), captioner.classifier());
        let whole = pollster::block_on(captioner.embed(std::slice::from_ref(&photo))).unwrap();
        let (node, _) = classifier.path(space, &whole[0]).steps[1];
        let mut reported = (0, 0);
        let occlusions = captioner.occlusions(&photo, |done, all| reported = (done, all));
        let occlusions = pollster::block_on(occlusions).unwrap();
        let map = captioner.heat(&occlusions, &Claim::Node(node));
        let count = map.rows * map.columns;
        assert!(count > 4 && map.values.len() == count, "{map:?}");
        assert!(map.values.iter().all(|value| (0.0..=1.0).contains(value)));
        assert!(map.values.contains(&1.0) && map.values.iter().any(|value| *value < 1.0));
        let all = if is_repeated { count as u64 } else { 0 };
        assert_eq!(reported, (all, all));
        let [left, top, right, bottom] = map.area;
        assert!(left >= 0.0 && top >= 0.0 && right <= 1.0 && bottom <= 1.0);
        assert!(left < right && top < bottom);
        let inside = map.share_inside(map.area).unwrap();
        assert!((inside - 1.0).abs() < 1e-6, "{inside}");
    }
}

#[test]
fn a_device_gives_the_heat_of_the_kernels() {
    let photo = landscape(320, 240);
    let [kernels, device] = [Engine::Kernels, Engine::Device(Device::flex())].map(|engine| {
        let captioner = captioner_with(&shipped(), &engine, Arithmetic::Float32);
        let classifier = captioner.classifier();
        let node = classifier.taxonomy().labelled()[0];
        let occlusions = pollster::block_on(captioner.occlusions(&photo, |_, _| ())).unwrap();
        captioner.heat(&occlusions, &Claim::Node(node))
    });
    assert_eq!(
        (kernels.rows, kernels.columns),
        (device.rows, device.columns)
    );
    assert!(kernels.rows > 1 && kernels.columns > 1, "{kernels:?}");
    for (a, b) in kernels.values.iter().zip(&device.values) {
        assert!((a - b).abs() < 1e-2, "{a} {b}");
    }
}
