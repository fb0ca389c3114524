//! Packs samples into the parts of a batch.

use std::collections::BTreeSet;

use espalier_core::input::TokenBatch;
use image::RgbImage;

use crate::batches::batch::{Chains, Scenes};
use crate::batches::batch_spec::BatchSpec;
use crate::batches::image_batch::{ImageBatch, Pixels};
use crate::sampling::draw::{Part, Sample, View};

/// Minimum fraction of a box's area that must lie inside another box for it to count as a part.
const CONTAINED: f64 = 0.8;

/// Packs views as input of the image encoder: features where the dataset has precomputed ones,
/// otherwise images. Views that another process holds are left out.
pub(crate) fn images<'a>(views: impl Iterator<Item = &'a View>, spec: &BatchSpec) -> ImageBatch {
    let (mut images, mut rows) = (Vec::new(), Vec::new());
    for view in views {
        match view {
            View::Pixels(image) => images.push(image),
            View::Row(row) => rows.push(*row),
            View::Elsewhere => {}
        }
    }
    match &spec.features {
        Some(features) => ImageBatch::Features(features.gather(&rows)),
        None => ImageBatch::Pixels(Pixels::pack(spec.image_size, &images)),
    }
}

/// Packs the chains of samples, shortened to the shortest so that all have the same number of
/// texts.
pub(crate) fn chains(samples: &[Sample], encode: impl Fn(&[String]) -> TokenBatch) -> Chains {
    let chains = samples.iter().filter_map(|sample| sample.content.chain());
    let tiers = chains.clone().map(|chain| chain.positives.len()).min();
    let tiers = tiers.unwrap_or(0);
    let last_tiers = |texts: &[String]| texts[texts.len() - tiers..].to_vec();
    let positives = chains
        .clone()
        .flat_map(|chain| last_tiers(&chain.positives));
    let negatives = chains.flat_map(|chain| last_tiers(&chain.negatives));
    let texts: Vec<String> = positives.chain(negatives).collect();
    Chains {
        tiers,
        texts: encode(&texts),
    }
}

fn area(b: [f64; 4]) -> f64 {
    (b[2] - b[0]).max(0.0) * (b[3] - b[1]).max(0.0)
}

/// Returns whether `inner` is a part of `outer` in the same image: smaller, and mostly inside it
/// (notation 2.9).
fn contains(outer: [f64; 4], inner: [f64; 4]) -> bool {
    let common = [
        outer[0].max(inner[0]),
        outer[1].max(inner[1]),
        outer[2].min(inner[2]),
        outer[3].min(inner[3]),
    ];
    area(outer) > area(inner) && area(common) >= CONTAINED * area(inner)
}

/// Collects the boxes of scenes and their relations: a scene and its boxes, a box and the boxes
/// inside it, a scene and the boxes of other images that were drawn for it.
///
/// A box that was drawn twice is stored once. A scene entails every box with one of its labels, in
/// any image, so that none of them counts as a negative.
pub(crate) fn scenes(samples: &[Sample], size: u32) -> Scenes {
    let mut boxes: Vec<&Part> = Vec::new();
    let mut pairs = BTreeSet::new();
    let samples: Vec<_> = samples.iter().filter_map(|s| s.content.scene()).collect();
    for (scene, (parts, companions)) in samples.iter().enumerate() {
        for part in parts.iter().chain(*companions) {
            let known = boxes.iter().position(|other| is_same_box(other, part));
            let at = known.unwrap_or_else(|| {
                boxes.push(part);
                boxes.len() - 1
            });
            pairs.insert((scene, at));
        }
    }
    let mut entails = BTreeSet::new();
    for (at, part) in boxes.iter().enumerate() {
        // A box must not be its own negative.
        entails.insert((samples.len() + at, at));
        for (other, inner) in boxes.iter().enumerate() {
            if inner.key == part.key && contains(part.place, inner.place) {
                pairs.insert((samples.len() + at, other));
            }
        }
        for (scene, (parts, _)) in samples.iter().enumerate() {
            if parts.iter().any(|other| other.label == part.label) {
                entails.insert((scene, at));
            }
        }
    }
    entails.extend(&pairs);
    let crops: Vec<&RgbImage> = boxes.iter().map(|part| &part.crop).collect();
    Scenes {
        boxes: Pixels::pack(size, &crops),
        pairs: pairs.into_iter().collect(),
        entails: entails.into_iter().collect(),
    }
}

/// Returns whether two parts are the same box of the same record.
fn is_same_box(a: &Part, b: &Part) -> bool {
    a.key == b.key && a.label == b.label && a.place == b.place
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::lineage::TextChain;
    use crate::sampling::draw::Content;

    fn part(key: &str, label: &str, place: [f64; 4]) -> Part {
        Part {
            crop: RgbImage::new(2, 2),
            key: key.to_owned(),
            label: label.to_owned(),
            place,
        }
    }

    fn sample(content: Content) -> Sample {
        Sample {
            shard: 0,
            key: String::new(),
            caption: String::new(),
            synset: None,
            content,
        }
    }

    fn scene(parts: Vec<Part>, companions: Vec<Part>) -> Sample {
        sample(Content::Scene {
            image: View::Pixels(RgbImage::new(2, 2)),
            parts,
            companions,
        })
    }

    #[test]
    fn relations_run_from_wholes_to_parts_and_across_images_by_label() {
        let whole = [0.0, 0.0, 1.0, 1.0];
        let cat = || part("a", "cat", whole);
        let eye = || part("a", "eye", [0.4, 0.2, 0.6, 0.4]);
        let other_cat = || part("b", "cat", [0.1, 0.1, 0.9, 0.9]);
        let far_eye = || part("c", "eye", [0.4, 0.2, 0.6, 0.4]);
        let samples = [
            scene(vec![eye(), cat()], vec![other_cat(), far_eye()]),
            scene(vec![other_cat()], vec![cat()]),
        ];
        let scenes = scenes(&samples, 2);
        // Boxes: 0 eye of a, 1 cat of a, 2 cat of b, 3 eye of c, each stored once.
        assert_eq!(scenes.boxes.count, 4);
        // Rows: scenes 0 and 1, then boxes 2 to 5.
        let pairs = [(0, 0), (0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (3, 0)];
        assert_eq!(scenes.pairs, pairs);
        let entails: BTreeSet<_> = scenes.entails.iter().copied().collect();
        assert!(pairs.iter().all(|pair| entails.contains(pair)));
        let selves = [(2, 0), (3, 1), (4, 2), (5, 3)];
        assert!(selves.iter().all(|pair| entails.contains(pair)));
        assert!(!entails.contains(&(1, 0)), "the second scene shows no eye");
        let other_eye = (3, 3);
        assert!(!entails.contains(&other_eye), "it is in another image");
    }

    #[test]
    fn the_area_of_a_box_is_that_of_its_sides() {
        assert!((area([0.25, 0.5, 0.75, 0.75]) - 0.125).abs() < 1e-12);
        assert_eq!(area([0.5, 0.0, 0.25, 1.0]), 0.0);
        assert_eq!(area([0.0, 0.5, 1.0, 0.25]), 0.0);
    }

    #[test]
    fn chains_are_shortened_to_the_shortest_from_the_general_end() {
        let chain = |texts: &[&str]| {
            let texts = |sign: &str| texts.iter().map(|t| format!("{sign}{t}")).collect();
            sample(Content::Chain {
                image: None,
                chain: TextChain {
                    positives: texts("+"),
                    negatives: texts("-"),
                },
            })
        };
        let samples = [chain(&["a", "b", "c", "d"]), chain(&["x", "y"])];
        let packed = chains(&samples, |texts: &[String]| {
            assert_eq!(texts, ["+c", "+d", "+x", "+y", "-c", "-d", "-x", "-y"]);
            TokenBatch::default()
        });
        assert_eq!(packed.tiers, 2);
        let no_chain = chains(&[], |texts: &[String]| {
            assert!(texts.is_empty(), "{texts:?}");
            TokenBatch::default()
        });
        assert_eq!(no_chain.tiers, 0);
    }

    #[test]
    fn a_box_of_the_same_size_is_no_part() {
        let one = [0.1, 0.1, 0.5, 0.5];
        assert!(!contains(one, one));
        assert!(contains([0.0, 0.0, 0.5, 0.5], [0.1, 0.1, 0.3, 0.3]));
        assert!(!contains([0.0, 0.0, 0.5, 0.5], [0.3, 0.3, 0.7, 0.7]));
    }
}
