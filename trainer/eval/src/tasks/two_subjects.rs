//! Whether two subjects of a photo are found, on pairs of photos put side by side.

use std::collections::BTreeMap;

use espalier_core::caption::{Captioner, Subject};
use espalier_core::taxonomy::{NodeIx, Taxonomy};
use espalier_data::formats::registry::{self, Need};
use espalier_data::records::random::{Purpose, Random};
use espalier_data::records::source::Record;
use espalier_io::exit::usage;
use image::RgbImage;
use image::imageops::{FilterType, replace, resize};
use rayon::prelude::*;

use crate::captioned::{captioner, records};
use crate::task::{Context, Task, TaskResult, named};

/// Pairs of photos, and the same photos alone.
pub const TASK: Task = Task {
    name: "two-subjects",
    about: "photos put side by side or above each other: how often both are named, and how often a single photo is taken for two",
    needs: "images with labels of the bundle's taxonomy; a bundle",
    benchmarks: &[],
    run,
};

/// Length of the common side of two photos in a pair, in pixels.
const SIDE: u32 = 288;

/// A photo and its label.
struct Labelled<'a> {
    record: &'a Record,
    label: NodeIx,
}

/// Counts over all pairs, each with its first photo alone.
#[derive(Clone, Copy, Default)]
struct Counts {
    pairs: u64,
    pairs_found: u64,
    pairs_right: u64,
    singles_two: u64,
    unreadable: u64,
}

impl Counts {
    fn plus(self, other: Self) -> Self {
        Self {
            pairs: self.pairs + other.pairs,
            pairs_found: self.pairs_found + other.pairs_found,
            pairs_right: self.pairs_right + other.pairs_right,
            singles_two: self.singles_two + other.singles_two,
            unreadable: self.unreadable + other.unreadable,
        }
    }

    /// Of the pairs: the share in which two subjects were found, and of those the share in which
    /// both names are right. Of the single photos: the share in which two subjects were found,
    /// rightly or not.
    fn metrics(&self) -> BTreeMap<String, f64> {
        let share = |part: u64, all: u64| part as f64 / all.max(1) as f64;
        named([
            ("pairs_found", share(self.pairs_found, self.pairs)),
            ("found_right", share(self.pairs_right, self.pairs_found)),
            ("singles_two", share(self.singles_two, self.pairs)),
        ])
    }
}

/// Puts two photos next to each other, scaled to a common height, or above each other.
fn compose(a: &RgbImage, b: &RgbImage, is_wide: bool) -> RgbImage {
    let scaled = |photo: &RgbImage| {
        let (width, height) = photo.dimensions();
        let other = |long: u32, short: u32| (SIDE * long).div_ceil(short).max(1);
        let (width, height) = match is_wide {
            true => (other(width, height), SIDE),
            false => (SIDE, other(height, width)),
        };
        resize(photo, width, height, FilterType::Triangle)
    };
    let (a, b) = (scaled(a), scaled(b));
    let (width, height, at) = match is_wide {
        true => (a.width() + b.width(), SIDE, (i64::from(a.width()), 0)),
        false => (SIDE, a.height() + b.height(), (0, i64::from(a.height()))),
    };
    let mut pair = RgbImage::new(width, height);
    replace(&mut pair, &a, 0, 0);
    replace(&mut pair, &b, at.0, at.1);
    pair
}

/// Returns whether two subjects name two labels: in either order, each label lies at or below one.
fn names_both(taxonomy: &Taxonomy, subjects: &[Subject], labels: [NodeIx; 2]) -> bool {
    let [a, b] = subjects else { return false };
    let fits = |subject: &Subject, label: NodeIx| {
        let node = taxonomy.find(&subject.node);
        node.is_some_and(|node| node == label || taxonomy.is_ancestor(node, label))
    };
    let in_order = |x: &Subject, y: &Subject| fits(x, labels[0]) && fits(y, labels[1]);
    in_order(a, b) || in_order(b, a)
}

fn subjects(captioner: &Captioner, photo: &RgbImage) -> anyhow::Result<Vec<Subject>> {
    Ok(pollster::block_on(captioner.subjects(photo, |_, _| ()))?)
}

/// Counts one pair, and its first photo alone.
fn count(captioner: &Captioner, pair: [&Labelled<'_>; 2], is_wide: bool) -> anyhow::Result<Counts> {
    let [Ok(a), Ok(b)] = pair.map(|photo| photo.record.image.decode()) else {
        return Ok(Counts {
            unreadable: 1,
            ..Counts::default()
        });
    };
    let labels = pair.map(|photo| photo.label);
    let found = subjects(captioner, &compose(&a, &b, is_wide))?;
    let alone = subjects(captioner, &a)?;
    let taxonomy = captioner.classifier().taxonomy();
    Ok(Counts {
        pairs: 1,
        pairs_found: u64::from(!found.is_empty()),
        pairs_right: u64::from(names_both(taxonomy, &found, labels)),
        singles_two: u64::from(!alone.is_empty()),
        unreadable: 0,
    })
}

fn run(cx: &Context<'_, '_>) -> anyhow::Result<TaskResult> {
    let captioner = captioner(cx, TASK.name)?;
    let taxonomy = captioner.classifier().taxonomy();
    let data = registry::open(cx.data, Need::Labels)?;
    let (records, coverage) = records(data.as_ref(), cx.options.most);
    let labelled = |record| {
        let record: &Record = record;
        let label = taxonomy.find(record.synsets.first()?)?;
        Some(Labelled { record, label })
    };
    let photos: Vec<Labelled<'_>> = records.iter().filter_map(labelled).collect();
    let mut order: Vec<usize> = (0..photos.len()).collect();
    Random::new(0, Purpose::Pairs, 0, 0).shuffle(&mut order);
    // Each photo is once the first and once the second of a pair.
    let pairs = order.iter().zip(order.iter().cycle().skip(1)).enumerate();
    let pairs = pairs.map(|(at, (a, b))| (at, [&photos[*a], &photos[*b]]));
    let pairs: Vec<_> = pairs.filter(|(_, [a, b])| a.label != b.label).collect();
    if pairs.is_empty() {
        return Err(usage(
            "--data: expected images of two labels of the bundle's taxonomy, found fewer",
        ));
    }
    let counts = pairs
        .par_iter()
        .map(|(at, pair)| count(&captioner, *pair, at % 2 == 0))
        .try_reduce(Counts::default, |a, b| Ok(a.plus(b)))?;
    Ok(TaskResult {
        n: counts.pairs as usize,
        classes: taxonomy.labelled().len(),
        metrics: counts.metrics(),
        settings: named([("images", records.len().to_string())]),
        left_out: named([
            (
                "label not in the taxonomy",
                (records.len() - photos.len()) as u64,
            ),
            ("pair with an unreadable image", counts.unreadable),
        ]),
        coverage: Some(coverage),
        ..TaskResult::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_photos_share_a_side() {
        let (a, b) = (RgbImage::new(100, 50), RgbImage::new(60, 120));
        let wide = compose(&a, &b, true);
        assert_eq!(wide.dimensions(), (576 + 144, 288));
        let tall = compose(&a, &b, false);
        assert_eq!(tall.dimensions(), (288, 144 + 576));
    }

    #[test]
    fn both_names_must_fit_in_either_order() {
        let taxonomy = Taxonomy::from_tsv(
            "synset\tnames\thypernyms\tlabelled\nr\tthing\t\t0\nd\tdog\tr\t0\n\
             t\tterrier\td\t1\nb\tball\tr\t1\n",
        )
        .unwrap();
        let subject = |node: &str| Subject {
            region: [0.0; 4],
            node: node.into(),
            name: node.into(),
            p: 1.0,
            ladder: Vec::new(),
            taxonomy: espalier_core::caption::TaxonomyResult {
                path: Vec::new(),
                stop: node.into(),
            },
        };
        let labels = ["t", "b"].map(|id| taxonomy.find(id).unwrap());
        let right = |a, b| names_both(&taxonomy, &[subject(a), subject(b)], labels);
        assert!(right("d", "b") && right("b", "t"));
        assert!(!right("d", "d") && !right("b", "b"));
        assert!(!names_both(&taxonomy, &[], labels));
    }
}
