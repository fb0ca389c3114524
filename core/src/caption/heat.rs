//! Heat maps: which places of a photo an answer rests on.
//!
//! Each place is left out in turn. Its heat is the amount by which the evidence for an answer falls
//! without it (Zeiler and Fergus 2014, "Visualizing and Understanding Convolutional Networks"). An
//! encoder that averages the features of its places needs no second pass for that: the average of
//! the others is exact. For any other encoder, a cell of the photo is painted over.

use image::{Rgb, RgbImage};
use serde::{Deserialize, Serialize};

use super::captioner::Captioner;
use super::classifier::Classifier;
use super::index::CaptionEntry;
use crate::error::Result;
use crate::geometry::Space;
use crate::statements::PartIx;
use crate::taxonomy::NodeIx;

/// Rows and columns of the cells that are painted over.
const CELLS: u32 = 6;

/// Number of photos with painted cells that are embedded at once.
const BATCH: usize = 4;

/// The points that a photo would have without each of its places.
#[derive(Clone, Debug)]
pub struct Occlusions {
    rows: usize,
    columns: usize,
    /// The part of the photo that the places cover, see
    /// [`Preprocess::visible`](crate::input::Preprocess::visible).
    area: [f32; 4],
    /// The photo's own point.
    whole: Vec<f32>,
    /// Row by row.
    without: Vec<Vec<f32>>,
}

/// What an answer says.
#[derive(Clone, Debug, PartialEq)]
pub enum Claim {
    /// That the photo shows something at or below a node.
    Node(NodeIx),
    /// That a text with this point describes it.
    Text(Vec<f32>),
    /// That a statement with these parts describes it, about something at or below a node if there is one.
    Statement(Option<NodeIx>, Vec<PartIx>),
}

/// How much each place of a photo contributes to an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeatMap {
    /// Number of rows, from top to bottom.
    pub rows: usize,
    /// Number of columns, from left to right.
    pub columns: usize,
    /// Left, top, right and bottom of the map, as fractions of the photo's sides.
    pub area: [f32; 4],
    /// Heat in `[0, 1]`, row by row. The largest is 1, unless all are 0: no place speaks for the
    /// answer.
    pub values: Vec<f32>,
}

impl HeatMap {
    /// Returns the map of `evidence`, a function of a photo's point: places without which it falls are hot, all
    /// others cold.
    fn of(occlusions: &Occlusions, evidence: impl Fn(&[f32]) -> f64) -> Self {
        let whole = evidence(&occlusions.whole);
        let falls = occlusions
            .without
            .iter()
            .map(|point| whole - evidence(point));
        let falls: Vec<f64> = falls.collect();
        let top = falls.iter().copied().fold(0.0, f64::max);
        let value = |fall: &f64| match top > 0.0 {
            true => (fall.max(0.0) / top) as f32,
            false => 0.0,
        };
        Self {
            rows: occlusions.rows,
            columns: occlusions.columns,
            area: occlusions.area,
            values: falls.iter().map(value).collect(),
        }
    }

    /// Returns the share of the heat inside a box: left, top, right and bottom as fractions of the
    /// photo's sides. A place counts in proportion to its overlap with the box. `None` if the map
    /// is cold.
    #[must_use]
    pub fn share_inside(&self, region: [f32; 4]) -> Option<f64> {
        let [left, top, right, bottom] = self.area.map(f64::from);
        let region = region.map(f64::from);
        let (width, height) = (
            (right - left) / self.columns as f64,
            (bottom - top) / self.rows as f64,
        );
        let overlap = |start: f64, length: f64, from: f64, to: f64| {
            ((start + length).min(to) - start.max(from)).max(0.0) / length
        };
        let (mut inside, mut all) = (0.0, 0.0);
        for (index, value) in self.values.iter().enumerate() {
            let (row, column) = (index / self.columns, index % self.columns);
            let x = overlap(left + column as f64 * width, width, region[0], region[2]);
            let y = overlap(top + row as f64 * height, height, region[1], region[3]);
            inside += f64::from(*value) * x * y;
            all += f64::from(*value);
        }
        (all > 0.0).then(|| inside / all)
    }
}

/// Returns a photo whose cell at this row and column is painted over. The paint covers half of each
/// neighbour too, so that an edge between cells does not show half of an object.
fn painted(photo: &RgbImage, row: u32, column: u32, colour: Rgb<u8>) -> RgbImage {
    let edges = |cell: u32, side: u32| {
        let edge = |halves: u32| halves * side / (2 * CELLS);
        (
            edge((2 * cell).saturating_sub(1)),
            edge((2 * cell + 3).min(2 * CELLS)),
        )
    };
    let (left, right) = edges(column, photo.width());
    let (top, bottom) = edges(row, photo.height());
    let mut painted = photo.clone();
    for y in top..bottom {
        for x in left..right {
            painted.put_pixel(x, y, colour);
        }
    }
    painted
}

/// Returns the logarithm of a sum of exponentials.
fn log_sum_exp(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let top = values.clone().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return top;
    }
    top + values.map(|value| (value - top).exp()).sum::<f64>().ln()
}

impl Classifier {
    /// Returns how strongly a photo speaks for a node, in log-odds of the labels' shares: the labels at or below it
    /// against all others. If there are no others, it is the logarithm of their unnormalised shares.
    fn log_odds(&self, space: &Space, image: &[f32], node: NodeIx) -> f64 {
        let below = self.taxonomy().labelled_below(node);
        let labels = self.taxonomy().labelled().iter();
        let (agreeing, others): (Vec<_>, Vec<_>) = (self.scaled_logits(space, image).into_iter())
            .zip(labels)
            .partition(|(_, label)| below.binary_search(label).is_ok());
        let of = |labels: &[(f64, &NodeIx)]| log_sum_exp(labels.iter().map(|(logit, _)| *logit));
        match others.is_empty() {
            true => of(&agreeing),
            false => of(&agreeing) - of(&others),
        }
    }

    /// Returns the same for a text with this point, as if it were one more label.
    fn log_odds_of_text(&self, space: &Space, image: &[f32], text: &[f32]) -> f64 {
        let labels = self.scaled_logits(space, image);
        let text = self.calibration().scale * space.logit(text, image);
        text - log_sum_exp(labels.iter().copied())
    }

    fn scaled_logits(&self, space: &Space, image: &[f32]) -> Vec<f64> {
        let scale = self.calibration().scale;
        let logits = self.logits(space, image).into_iter();
        logits.map(|logit| scale * logit).collect()
    }
}

impl Captioner {
    /// Computes the points of a photo without each of its places. For an encoder whose places see
    /// each other, `report` receives the number of encoded photos so far and the total.
    ///
    /// # Errors
    /// As [`embed`](Self::embed).
    pub async fn occlusions(
        &self,
        photo: &RgbImage,
        mut report: impl FnMut(u64, u64),
    ) -> Result<Occlusions> {
        let area = self.preprocessing().visible(photo)?;
        let input = self.preprocessing().apply(photo)?;
        let encoder = self.image_part();
        if let Some(map) = encoder.feature_map(&input).await? {
            return Ok(Occlusions {
                rows: map.rows,
                columns: map.columns,
                area,
                whole: encoder.lift(&[map.mean()])?.swap_remove(0),
                without: encoder.lift(&map.without_each())?,
            });
        }
        let colour = encoder.mean_colour();
        let cells = (0..CELLS).flat_map(|row| (0..CELLS).map(move |column| (row, column)));
        let cells: Vec<(u32, u32)> = cells.collect();
        let whole = encoder.embed(std::slice::from_ref(&input)).await?;
        let mut without = Vec::with_capacity(cells.len());
        for batch in cells.chunks(BATCH) {
            let paint = |(row, column): &(u32, u32)| painted(&input, *row, *column, colour);
            let images: Vec<RgbImage> = batch.iter().map(paint).collect();
            without.extend(encoder.embed(&images).await?);
            report(without.len() as u64, cells.len() as u64);
        }
        Ok(Occlusions {
            rows: CELLS as usize,
            columns: CELLS as usize,
            area,
            whole: whole.into_iter().next().unwrap_or_default(),
            without,
        })
    }

    /// Computes the heat map of a claim.
    #[must_use]
    pub fn heat(&self, occlusions: &Occlusions, claim: &Claim) -> HeatMap {
        let (classifier, space) = (self.classifier(), self.space());
        HeatMap::of(occlusions, |point| match claim {
            Claim::Node(node) => classifier.log_odds(space, point, *node),
            Claim::Text(text) => classifier.log_odds_of_text(space, point, text),
            Claim::Statement(node, parts) => {
                let of_node = node.map(|node| classifier.log_odds(space, point, node));
                let of_parts = self.detectors().map(|d| d.log_odds(point, parts));
                of_node.unwrap_or_default() + of_parts.unwrap_or_default()
            }
        })
    }

    /// Returns what a caption claims: the node that it names, the parts of statements in it, or the text of the
    /// index. `None` for a text of which the model knows none of these.
    #[must_use]
    pub fn claim(&self, caption: &str) -> Option<Claim> {
        let entries = self.index().entries();
        let known = entries.iter().position(|entry| entry.text == caption);
        let node = |entry: &CaptionEntry| {
            let id = entry.node.as_deref().filter(|_| entry.detail == 0)?;
            self.classifier().taxonomy().find(id)
        };
        if let Some(node) = known.and_then(|index| node(&entries[index])) {
            return Some(Claim::Node(node));
        }
        // "A barn on grass" is about a barn.
        let is_prefix = |entry: &&CaptionEntry| {
            let rest = caption.strip_prefix(&entry.text);
            rest.is_some_and(|rest| rest.starts_with(' '))
        };
        let subject = entries.iter().filter(is_prefix);
        let subject = subject.max_by_key(|entry| entry.text.len()).and_then(node);
        let parts = self.detectors().map_or_else(Vec::new, |detectors| {
            detectors.vocabulary().mentions(caption).distinct()
        });
        if !parts.is_empty() {
            return Some(Claim::Statement(subject, parts));
        }
        known.map(|index| Claim::Text(self.index().point(index).to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::calibration::Calibration;
    use super::*;
    use crate::taxonomy::tree_of;

    fn classifier() -> (Classifier, Space) {
        let labels = vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        let tree = "r = thing; a = animal < r; *c = cat < a; *d = dog < a; *t = table < r";
        let classifier = Classifier::new(tree_of(tree), labels, 3, Calibration::of_scale(4.0));
        let space = Space::Sphere {
            root: vec![-1.0, 0.0, 0.0],
        };
        (classifier.unwrap(), space)
    }

    /// A photo of a cat at the left and a table at the right; the middle shows nothing.
    fn occlusions() -> Occlusions {
        Occlusions {
            rows: 1,
            columns: 3,
            area: [0.0, 0.0, 1.0, 1.0],
            whole: vec![0.6, 0.0, 0.6],
            without: vec![
                vec![0.1, 0.0, 0.9],
                vec![0.7, 0.0, 0.7],
                vec![0.9, 0.0, 0.1],
            ],
        }
    }

    #[test]
    fn the_place_that_an_answer_rests_on_is_hot() {
        let (classifier, space) = classifier();
        let node = |id: &str| {
            let node = classifier.node(id).unwrap();
            HeatMap::of(&occlusions(), |point| {
                classifier.log_odds(&space, point, node)
            })
            .values
        };
        let text = [0.9, 0.1, 0.0];
        let text = HeatMap::of(&occlusions(), |point| {
            classifier.log_odds_of_text(&space, point, &text)
        });
        for heat in [node("c"), node("a"), text.values] {
            assert_eq!((heat[0], heat[2]), (1.0, 0.0), "{heat:?}");
        }
        assert_eq!(node("t")[2], 1.0);
        assert!(node("r").iter().all(|v| v.is_finite()));
    }

    #[test]
    fn heat_inside_a_box_counts_by_overlap() {
        let map = HeatMap {
            rows: 1,
            columns: 2,
            area: [0.25, 0.0, 0.75, 1.0],
            values: vec![1.0, 0.5],
        };
        let inside = |region| map.share_inside(region).unwrap();
        assert!((inside([0.0, 0.0, 1.0, 1.0]) - 1.0).abs() < 1e-9);
        assert!((inside([0.25, 0.0, 0.5, 1.0]) - 2.0 / 3.0).abs() < 1e-9);
        assert!((inside([0.375, 0.0, 1.0, 0.5]) - 0.5 / 1.5).abs() < 1e-9);
        let cold = HeatMap {
            values: vec![0.0, 0.0],
            ..map
        };
        assert_eq!(cold.share_inside([0.0, 0.0, 1.0, 1.0]), None);
    }

    #[test]
    fn paint_covers_a_cell_and_half_of_its_neighbours() {
        let photo = RgbImage::new(24, 24);
        let white = Rgb([255; 3]);
        let whites = |row, column| {
            let painted = painted(&photo, row, column, white);
            painted.pixels().filter(|pixel| **pixel == white).count()
        };
        assert_eq!(whites(2, 3), 64);
        assert_eq!(whites(0, 5), 36);
    }
}
