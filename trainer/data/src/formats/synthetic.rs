//! A small learnable hierarchy generated on the fly: coloured shapes on plain backgrounds.
//!
//! It needs no files: tests and first runs get a dataset whose captions, boxes and taxonomy are
//! correct by construction. Every record is a pure function of `(seed, index)`.

use std::fmt::Write;

use image::{Rgb, RgbImage};

use crate::records::boxes::{BoxTally, GroundedBox, Region};
use crate::records::fault::Broken;
use crate::records::random::{Purpose, Random};
use crate::records::record_image::RecordImage;
use crate::records::source::{Dataset, Record, Records, Unit};
use crate::records::table::Table;

/// Records per unit.
const UNIT: usize = 256;
/// Side of the images of a figure, and the least one of those of a run, in pixels.
pub const SIDE: u32 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Circle,
    Ring,
    Square,
    Triangle,
}

impl Shape {
    const ALL: [Self; 4] = [Self::Circle, Self::Ring, Self::Square, Self::Triangle];

    fn name(self) -> &'static str {
        match self {
            Self::Circle => "circle",
            Self::Ring => "ring",
            Self::Square => "square",
            Self::Triangle => "triangle",
        }
    }

    /// Returns the node between the shape and the root.
    fn family(self) -> &'static str {
        match self {
            Self::Circle | Self::Ring => "round shape",
            Self::Square | Self::Triangle => "angular shape",
        }
    }

    /// Returns whether the point `(u, v)`, in [-1, 1] across the box, is inside the shape.
    fn covers(self, u: f32, v: f32) -> bool {
        let radius = u.hypot(v);
        match self {
            Self::Circle => radius <= 1.0,
            Self::Ring => (0.55..=1.0).contains(&radius),
            Self::Square => true,
            Self::Triangle => u.abs() <= f32::midpoint(v, 1.0),
        }
    }
}

const COLOURS: [(&str, [u8; 3]); 4] = [
    ("red", [220, 40, 40]),
    ("green", [40, 180, 60]),
    ("blue", [50, 80, 220]),
    ("yellow", [230, 210, 40]),
];
const BACKGROUNDS: [[u8; 3]; 4] = [
    [235, 235, 235],
    [25, 25, 25],
    [150, 120, 100],
    [120, 150, 170],
];

/// Returns the identifier of a node in [`taxonomy_tsv`], derived from its name.
fn id(name: &str) -> String {
    name.replace(' ', "_")
}

/// Returns the taxonomy of the labels as a table of `synset, names, hypernyms, labelled`: shape,
/// two families, four shapes, and sixteen coloured shapes, which are the labels.
pub fn taxonomy_tsv() -> String {
    let mut out = String::from("synset\tnames\thypernyms\tlabelled\n");
    let mut line = |name: &str, parent: &str, labelled: u8| {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{}\t{name}\t{}\t{labelled}", id(name), id(parent));
    };
    line("shape", "", 0);
    line("round shape", "shape", 0);
    line("angular shape", "shape", 0);
    for shape in Shape::ALL {
        line(shape.name(), shape.family(), 0);
    }
    for shape in Shape::ALL {
        for (colour, _) in COLOURS {
            line(&format!("{colour} {}", shape.name()), shape.name(), 1);
        }
    }
    out
}

/// The dataset: records `0..records` of a seed, with square images.
pub struct Synthetic(Table);

impl Synthetic {
    /// Creates `records` records with images of `size` pixels, at least 8.
    pub fn new(records: u64, size: u32, seed: u64) -> Self {
        let (name, size) = ("synthetic".to_owned(), size.max(8));
        let count = usize::try_from(records).unwrap_or(usize::MAX);
        let drawn = SyntheticRecords { seed, size };
        Self(Table::in_units_of(UNIT, name, count, drawn))
    }
}

impl Dataset for Synthetic {
    fn units(&self) -> &[Unit] {
        self.0.units()
    }

    fn shard_name(&self, shard: u32) -> &str {
        self.0.shard_name(shard)
    }

    fn load(&self, unit: usize) -> Result<Box<dyn Records>, Broken> {
        self.0.load(unit)
    }
}

struct SyntheticRecords {
    seed: u64,
    size: u32,
}

impl Records for SyntheticRecords {
    fn read(&self, row: usize) -> Result<Record, Broken> {
        Ok(synthetic_record(self.seed, self.size, row as u64))
    }
}

/// A shape in the image: position in pixels, right and bottom exclusive.
struct PlacedShape {
    shape: Shape,
    colour: usize,
    left: u32,
    top: u32,
    side: u32,
}

impl PlacedShape {
    fn name(&self) -> String {
        format!("{} {}", COLOURS[self.colour].0, self.shape.name())
    }
}

/// Places a shape of a quarter to a half of the image size in the columns `from..to`.
fn place(random: &mut Random, size: u32, from: u32, to: u32) -> PlacedShape {
    let largest = (size / 2).min(to - from).max(2);
    let least = (size / 4).clamp(2, largest);
    let side = least + random.below(largest - least + 1);
    PlacedShape {
        shape: Shape::ALL[random.below(4) as usize],
        colour: random.below(4) as usize,
        left: from + random.below(to - from - side + 1),
        top: random.below(size - side + 1),
        side,
    }
}

/// Places one shape left or right, or one on each side; returns them with their caption.
fn arrange(random: &mut Random, size: u32) -> (Vec<PlacedShape>, String) {
    let middle = size / 2;
    match random.below(3) {
        0 => {
            let shape = place(random, size, 0, middle);
            let caption = format!("a {} on the left", shape.name());
            (vec![shape], caption)
        }
        1 => {
            let shape = place(random, size, middle, size);
            let caption = format!("a {} on the right", shape.name());
            (vec![shape], caption)
        }
        _ => {
            let left = place(random, size, 0, middle);
            let right = place(random, size, middle, size);
            let caption = format!("a {} next to a {}", left.name(), right.name());
            (vec![left, right], caption)
        }
    }
}

/// Returns the boxes of all phrases for the shapes; for repeated phrases, the first.
fn boxes(placed: &[PlacedShape], size: u32) -> Vec<GroundedBox> {
    let mut boxes: Vec<GroundedBox> = Vec::new();
    for shape in placed {
        let (right, bottom) = (shape.left + shape.side, shape.top + shape.side);
        let pixels = [shape.left, shape.top, right, bottom];
        let rel = pixels.map(|pixel| f64::from(pixel) / f64::from(size));
        let name = shape.name();
        for phrase in [name.as_str(), shape.shape.name(), "shape"] {
            if boxes.iter().all(|b| b.phrase != phrase) {
                let (region, label) = (Region::Relative(rel), Some(id(&name)));
                boxes.push(GroundedBox::new(phrase, region, label));
            }
        }
    }
    boxes
}

fn synthetic_record(seed: u64, size: u32, index: u64) -> Record {
    let mut random = Random::new(seed, Purpose::Synthetic, 0, index);
    let background = BACKGROUNDS[random.below(4) as usize];
    let (placed, caption) = arrange(&mut random, size);
    let mut image = RgbImage::from_pixel(size, size, Rgb(background));
    for shape in &placed {
        paint(&mut image, shape);
    }
    for value in image.iter_mut() {
        let noise = random.below(17) as i16 - 8;
        *value = (i16::from(*value) + noise).clamp(0, 255) as u8;
    }
    let boxes = boxes(&placed, size);
    Record {
        synsets: placed.iter().map(|shape| id(&shape.name())).collect(),
        tally: BoxTally {
            noun_chunks: boxes.len() as u64,
            ..BoxTally::default()
        },
        boxes,
        ..Record::labelled(
            format!("{index:08}"),
            RecordImage::Decoded(image),
            None,
            caption,
        )
    }
}

fn paint(image: &mut RgbImage, placed: &PlacedShape) {
    let across = |pixel: u32| (2 * pixel + 1) as f32 / placed.side as f32 - 1.0;
    for y in 0..placed.side {
        for x in 0..placed.side {
            if placed.shape.covers(across(x), across(y)) {
                image.put_pixel(
                    placed.left + x,
                    placed.top + y,
                    Rgb(COLOURS[placed.colour].1),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use espalier_core::taxonomy::Taxonomy;

    use super::*;
    use crate::records::boxes::pixel_box;

    #[test]
    fn every_label_is_in_the_taxonomy_and_labelled() {
        let taxonomy = Taxonomy::from_tsv(&taxonomy_tsv()).unwrap();
        assert_eq!(taxonomy.nodes().len(), 23);
        assert_eq!(taxonomy.labelled().len(), 16);
        let mut seen = BTreeSet::new();
        for index in 0..300 {
            for synset in synthetic_record(0, 32, index).synsets {
                let node = taxonomy.find(&synset).unwrap();
                assert!(taxonomy.node(node).labelled);
                seen.insert(synset);
            }
        }
        assert_eq!(seen.len(), 16, "every label occurs");
    }

    #[test]
    fn boxes_contain_the_named_shape() {
        for index in 0..200 {
            let record = synthetic_record(3, 48, index);
            let RecordImage::Decoded(image) = &record.image else {
                panic!("drawn")
            };
            for found in record.boxes.iter().filter(|b| b.phrase.contains(' ')) {
                let rel = found.region.relative().unwrap();
                let [left, top, right, bottom] = pixel_box(rel, 48, 48);
                let named = |colour: &&(&str, [u8; 3])| found.phrase.starts_with(colour.0);
                let (_, colour) = *COLOURS.iter().find(named).unwrap();
                let is_close = |&(x, y): &(u32, u32)| {
                    let pixel = image.get_pixel(x, y).0;
                    pixel.iter().zip(colour).all(|(a, b)| a.abs_diff(b) < 9)
                };
                let inside = (top..bottom).flat_map(|y| (left..right).map(move |x| (x, y)));
                let close = inside.filter(is_close).count() as f64;
                let share = close / f64::from((right - left) * (bottom - top));
                assert!(share > 0.3, "{index} {}: {share}", found.phrase);
                assert!(record.caption.contains(&found.phrase));
            }
        }
    }

    #[test]
    fn records_depend_on_seed_and_index_alone() {
        let data = Synthetic::new(600, 32, 7);
        let records: Vec<u32> = data.units().iter().map(|unit| unit.records).collect();
        assert_eq!(records, [256, 256, 88]);
        let read = |unit: usize, row: usize| data.load(unit).unwrap().read(row).unwrap();
        assert_eq!(read(1, 44).key, "00000300");
        let pixels = |record: &Record| record.image.decode().unwrap();
        let drawn = |seed: u64| pixels(&synthetic_record(seed, 32, 300));
        assert_eq!(pixels(&read(1, 44)), drawn(7));
        assert_ne!(drawn(8), drawn(7));
    }

    #[test]
    fn tiny_images_still_contain_their_shapes() {
        for index in 0..50 {
            let record = synthetic_record(0, 8, index);
            assert!(!record.boxes.is_empty());
        }
    }
}
