//! Tests of drawing a sample.

use super::*;
use crate::Synthetic;
use crate::records::random::Purpose;
use crate::records::source::Dataset;

fn record() -> Record {
    let records = Synthetic::new(4, 64, 1).load(0).ok().unwrap();
    records.read(0).ok().unwrap()
}

fn random() -> Random {
    Random::new(7, Purpose::Outliers, 0, 0)
}

fn spec(needs: Needs) -> BatchSpec {
    BatchSpec {
        needs,
        min_box_px: 1.0,
        ..BatchSpec::new(4, 16, 77)
    }
}

fn drawn(record: Record, spec: &BatchSpec) -> Option<Sample> {
    match draw(Ok(record), spec, &mut random(), Detail::Whole) {
        DrawResult::Sample(sample) => Some(*sample),
        _ => None,
    }
}

#[test]
fn a_scene_has_all_its_boxes_as_parts() {
    let record = record();
    let count = record.boxes.len();
    assert!(count > 0);
    let spec = spec(Needs::Parts);
    let scene = drawn(record.clone(), &spec).unwrap();
    assert_eq!(scene.content.scene().unwrap().0.len(), count);
    assert!(scene.content.image().is_some());
    let companion = |index| companion(Ok(record.clone()), index, &spec, &mut random());
    assert!((0..count).all(|index| companion(index).is_some()));
    assert!(companion(count).is_none() && companion(count + 1).is_none());
    assert_eq!(companion(0).unwrap().label, record.boxes[0].label());
}

#[test]
fn without_a_chain_there_is_no_sample_of_chains() {
    let spec = spec(Needs::Chains);
    let result = draw(Ok(record()), &spec, &mut random(), Detail::Whole);
    assert!(matches!(result, DrawResult::NoChain));
    let mut bare = record();
    bare.boxes.clear();
    let boxes = self::spec(Needs::Boxes);
    let result = draw(Ok(bare), &boxes, &mut random(), Detail::Whole);
    assert!(matches!(result, DrawResult::NoUsableBox));
    let chain = TextChain {
        positives: vec!["animal".to_owned(), "cat".to_owned()],
        negatives: vec!["plant".to_owned(), "oak".to_owned()],
    };
    let with_chain = Record {
        chain: Some(chain.clone()),
        ..record()
    };
    let sample = drawn(with_chain, &spec).unwrap();
    assert_eq!(sample.content.chain(), Some(&chain));
    assert!(sample.content.image().is_some());
    let texts = drawn(Record::of_chain("k".to_owned(), chain), &spec).unwrap();
    assert!(texts.content.image().is_none());
}

#[test]
fn the_label_of_a_record_is_that_of_a_box_or_its_own() {
    let mut labelled = record();
    labelled.synsets = vec!["own".to_owned()];
    for (at, grounded) in labelled.boxes.iter_mut().enumerate() {
        grounded.synset = Some(format!("box {at}"));
    }
    assert_eq!(label(&labelled).as_deref(), Some("box 0"));
    let spec = spec(Needs::Captions);
    let sample = drawn(labelled.clone(), &spec).unwrap();
    assert_eq!(sample.synset.as_deref(), Some("box 0"));
    labelled.boxes.clear();
    assert_eq!(label(&labelled).as_deref(), Some("own"));
    labelled.synsets.clear();
    assert_eq!(label(&labelled), None);
}

#[test]
fn cached_views_are_those_of_the_record() {
    let kept = FeatureRange {
        first: 10,
        views: 3,
    };
    let mut random = random();
    let rows: Vec<u32> = (0..50)
        .map(|_| match cached_view(kept, &mut random) {
            View::Row(row) => row,
            _ => panic!("expected a row"),
        })
        .collect();
    assert!((10..13).all(|row| rows.contains(&row)) && rows.iter().all(|r| (10..13).contains(r)));
}

#[test]
fn records_are_mirrored_if_asked_for_and_a_random_number_is_below_a_half() {
    let mut one_box = record();
    one_box.boxes.truncate(1);
    // Captions that mention a side are not mirrored.
    one_box.caption = "a shape".to_owned();
    let Region::Relative([left, top, right, bottom]) = one_box.boxes[0].region else {
        panic!("expected a box in the image")
    };
    let mut random = random();
    for mirror in [true, false] {
        let spec = BatchSpec {
            mirror,
            ..spec(Needs::Parts)
        };
        for _ in 0..50 {
            let is_mirrored = mirror && random.clone().uniform() < 0.5;
            let result = draw(Ok(one_box.clone()), &spec, &mut random, Detail::Whole);
            let DrawResult::Sample(sample) = result else {
                panic!("expected a sample")
            };
            let (left, right) = match is_mirrored {
                true => (1.0 - right, 1.0 - left),
                false => (left, right),
            };
            let (parts, _) = sample.content.scene().unwrap();
            assert_eq!(parts[0].place, [left, top, right, bottom]);
        }
    }
}
