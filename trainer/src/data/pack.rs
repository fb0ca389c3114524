//! From drawn samples to the parts of a batch.

use std::collections::BTreeSet;

use espalier_core::input::TokenBatch;
use image::RgbImage;

use super::batch::{Chains, Pictures, Scenes};
use super::draw::{Drawn, Part};
use super::random::Random;

/// Share of a box that must lie in another to be a part of it.
const CONTAINED: f64 = 0.8;

/// The pictures of samples; none where samples have none.
pub(super) fn pictures(drawn: &[Drawn]) -> Vec<&RgbImage> {
    drawn
        .iter()
        .filter_map(|sample| sample.picture.as_ref())
        .collect()
}

/// The chains of samples, cut to the shortest so that all have the same number of texts.
pub(super) fn chains(drawn: &[Drawn], encode: impl Fn(&[&str]) -> TokenBatch) -> Option<Chains> {
    let chains: Vec<_> = drawn
        .iter()
        .filter_map(|sample| sample.chain.as_ref())
        .collect();
    let tiers = chains.iter().map(|chain| chain.positives.len()).min()?;
    let side = |texts: Vec<&[String]>| {
        let all: Vec<&str> = texts
            .iter()
            .flat_map(|t| t[t.len() - tiers..].iter().map(String::as_str))
            .collect();
        encode(&all)
    };
    Some(Chains {
        tiers,
        positives: side(
            chains
                .iter()
                .map(|chain| chain.positives.as_slice())
                .collect(),
        ),
        negatives: side(
            chains
                .iter()
                .map(|chain| chain.negatives.as_slice())
                .collect(),
        ),
    })
}

fn area(b: [f64; 4]) -> f64 {
    (b[2] - b[0]).max(0.0) * (b[3] - b[1]).max(0.0)
}

/// Whether `inner` is a part of `outer` in the same picture: smaller, and inside it for the most
/// part (METHODS 2.9).
fn contains(outer: [f64; 4], inner: [f64; 4]) -> bool {
    let common = [
        outer[0].max(inner[0]),
        outer[1].max(inner[1]),
        outer[2].min(inner[2]),
        outer[3].min(inner[3]),
    ];
    area(outer) > area(inner) && area(common) >= CONTAINED * area(inner)
}

/// Boxes of scenes and their relations: a scene and its boxes, a box and the boxes inside it, a
/// scene and `cross_image` boxes of other scenes for each label that it shows.
///
/// A scene entails every box with one of its labels, wherever it lies, so that none of them
/// counts as a negative.
pub(super) fn scenes(
    drawn: &[Drawn],
    size: u32,
    cross_image: usize,
    random: &mut Random,
) -> Scenes {
    let boxes: Vec<(usize, &Part)> = drawn
        .iter()
        .enumerate()
        .flat_map(|(scene, sample)| sample.parts.iter().map(move |part| (scene, part)))
        .collect();
    let mut pairs = BTreeSet::new();
    let mut entails = BTreeSet::new();
    for (at, (scene, part)) in boxes.iter().enumerate() {
        pairs.insert((*scene, at));
        // A box is not its own negative.
        entails.insert((drawn.len() + at, at));
        for (other, (its_scene, inner)) in boxes.iter().enumerate() {
            if its_scene == scene && contains(part.place, inner.place) {
                pairs.insert((drawn.len() + at, other));
            }
        }
        let mut alike: Vec<usize> = (0..boxes.len())
            .filter(|other| boxes[*other].0 != *scene && boxes[*other].1.label == part.label)
            .collect();
        entails.extend(alike.iter().map(|other| (*scene, *other)));
        random.shuffle(&mut alike);
        pairs.extend(
            alike
                .into_iter()
                .take(cross_image)
                .map(|other| (*scene, other)),
        );
    }
    entails.extend(&pairs);
    let crops: Vec<&RgbImage> = boxes.iter().map(|(_, part)| &part.crop).collect();
    Scenes {
        boxes: Pictures::pack(size, &crops),
        pairs: pairs.into_iter().collect(),
        entails: entails.into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::Purpose;
    use super::*;

    fn sample(parts: &[(&str, [f64; 4])]) -> Drawn {
        let part = |(label, place): &(&str, [f64; 4])| Part {
            crop: RgbImage::new(2, 2),
            label: (*label).to_owned(),
            place: *place,
        };
        Drawn {
            key: String::new(),
            caption: String::new(),
            picture: Some(RgbImage::new(2, 2)),
            boxed: None,
            synset: None,
            chain: None,
            parts: parts.iter().map(part).collect(),
        }
    }

    #[test]
    fn relations_run_from_wholes_to_parts_and_across_pictures_by_label() {
        let drawn = [
            sample(&[("cat", [0.0, 0.0, 1.0, 1.0]), ("eye", [0.4, 0.2, 0.6, 0.4])]),
            sample(&[("cat", [0.1, 0.1, 0.9, 0.9])]),
        ];
        let mut random = Random::new(0, Purpose::CrossImage, 0, 0);
        let scenes = scenes(&drawn, 2, 1, &mut random);
        assert_eq!(scenes.boxes.count, 3);
        // Rows: scenes 0 and 1, boxes 2 (cat), 3 (eye), 4 (cat).
        let pairs = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 2), (2, 1)];
        assert_eq!(scenes.pairs, pairs);
        let entails: BTreeSet<_> = scenes.entails.iter().copied().collect();
        assert!(pairs.iter().all(|pair| entails.contains(pair)));
        assert!(
            [(2, 0), (3, 1), (4, 2)]
                .iter()
                .all(|own| entails.contains(own))
        );
        assert!(!entails.contains(&(1, 1)), "the second scene shows no eye");
    }

    #[test]
    fn a_box_of_the_same_size_is_no_part() {
        let one = [0.1, 0.1, 0.5, 0.5];
        assert!(!contains(one, one));
        assert!(contains([0.0, 0.0, 0.5, 0.5], [0.1, 0.1, 0.3, 0.3]));
        assert!(!contains([0.0, 0.0, 0.5, 0.5], [0.3, 0.3, 0.7, 0.7]));
    }
}
