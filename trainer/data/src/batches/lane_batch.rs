//! The rows of a batch that one lane gives, and how those of all lanes become the batch.
//!
//! A process that has not read a lane gets its [`Outline`] from one that has: everything but images.

use espalier_core::input::TokenBatch;
use serde::{Deserialize, Serialize};

use crate::batches::batch::{Batch, BatchContent, Chains, ImageRows};
use crate::batches::batch_spec::BatchSpec;
use crate::batches::image_batch::{ImageBatch, Pixels};
use crate::records::fault::BrokenCounts;
use crate::records::lanes::Positions;

/// The rows of a batch that one lane gives.
#[derive(Clone, Debug)]
pub struct LaneBatch {
    /// Number of the lane.
    pub lane: usize,
    /// Its rows; the images of this process among them.
    pub batch: Batch,
}

/// The rows of a lane without their images.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outline {
    images: usize,
    captions: TokenBatch,
    content: OutlineContent,
    shards: Vec<u32>,
    keys: Vec<String>,
    synsets: Vec<Option<String>>,
    position_after: Positions,
    skipped: BrokenCounts,
}

/// The texts beside the captions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum OutlineContent {
    Pairs,
    Boxed(TokenBatch),
    /// Texts of a chain, and the tokens of all.
    Chains(usize, TokenBatch),
}

impl Outline {
    /// Returns the outline of the rows of a lane.
    pub fn of(batch: &Batch) -> Self {
        Self {
            images: batch.image_rows.total,
            captions: batch.captions.clone(),
            content: match &batch.content {
                // Every process reads all scenes.
                BatchContent::Pairs | BatchContent::Scenes(_) => OutlineContent::Pairs,
                BatchContent::Boxed { phrases, .. } => OutlineContent::Boxed(phrases.clone()),
                BatchContent::Chains(Chains { tiers, texts }) => {
                    OutlineContent::Chains(*tiers, texts.clone())
                }
            },
            shards: batch.shards.clone(),
            keys: batch.keys.clone(),
            synsets: batch.synsets.clone(),
            position_after: batch.position_after.clone(),
            skipped: batch.skipped.clone(),
        }
    }

    /// Returns the rows with no image of this process, for images of side `size`.
    pub fn into_batch(self, size: u32) -> Batch {
        let none = || ImageBatch::Pixels(Pixels::pack(size, &[]));
        Batch {
            images: none(),
            image_rows: ImageRows {
                first: 0,
                total: self.images,
            },
            captions: self.captions,
            content: match self.content {
                OutlineContent::Pairs => BatchContent::Pairs,
                OutlineContent::Boxed(phrases) => BatchContent::Boxed {
                    images: none(),
                    phrases,
                },
                OutlineContent::Chains(tiers, texts) => {
                    BatchContent::Chains(Chains { tiers, texts })
                }
            },
            labels: None,
            order: None,
            nouns: None,
            anchors: None,
            shards: self.shards,
            keys: self.keys,
            synsets: self.synsets,
            position_after: self.position_after,
            skipped: self.skipped,
        }
    }
}

/// Returns the batch that the rows of all lanes make, in the order of lanes. Scenes cannot be put
/// together, so `--method parts` reads all lanes at once.
///
/// `None` without any lane.
pub fn joined(lanes: Vec<Batch>, spec: &BatchSpec) -> Option<Batch> {
    if lanes.len() == 1 {
        return lanes.into_iter().next();
    }
    let chains = joined_chains(&lanes);
    let mut positions = Vec::with_capacity(lanes.len());
    for lane in &lanes {
        positions.extend_from_slice(lane.position_after.lanes());
    }
    let mut lanes = lanes.into_iter();
    let mut all = lanes.next()?;
    for lane in lanes {
        append(&mut all.images, lane.images);
        all.image_rows.total += lane.image_rows.total;
        all.captions = all.captions.followed_by(&lane.captions);
        if let (
            BatchContent::Boxed { images, phrases },
            BatchContent::Boxed {
                images: more_images,
                phrases: more_phrases,
            },
        ) = (&mut all.content, lane.content)
        {
            append(images, more_images);
            *phrases = phrases.followed_by(&more_phrases);
        }
        all.shards.extend(lane.shards);
        all.keys.extend(lane.keys);
        all.synsets.extend(lane.synsets);
        all.skipped.merge(&lane.skipped);
    }
    let own = spec.own_rows().map_or(0, |own| own.start);
    all.image_rows.first = own.min(all.image_rows.total);
    if let Some(chains) = chains {
        all.content = BatchContent::Chains(chains);
    }
    all.position_after = positions.into_iter().collect();
    Some(all)
}

/// Appends images or features of the same size.
fn append(all: &mut ImageBatch, more: ImageBatch) {
    match (all, more) {
        (ImageBatch::Pixels(all), ImageBatch::Pixels(more)) => {
            all.count += more.count;
            all.bytes.extend(more.bytes);
        }
        (ImageBatch::Features(all), ImageBatch::Features(more)) => {
            all.count += more.count;
            all.values.extend(more.values);
        }
        // A dataset has features for all of its images or for none.
        _ => {}
    }
}

/// Puts chains one after the other: first all positives, then all negatives. All have the length of the
/// shortest; more general texts are left out. `None` without any chain.
fn joined_chains(lanes: &[Batch]) -> Option<Chains> {
    let chains = lanes.iter().filter_map(|lane| match &lane.content {
        BatchContent::Chains(chains) if chains.tiers > 0 => Some(chains),
        _ => None,
    });
    let tiers = chains.clone().map(|chains| chains.tiers).min()?;
    let joined_half = |half: usize| {
        let halves = chains.clone().map(|chains| {
            let texts = chains.texts.rows / 2;
            let rows = (0..texts).filter(|row| row % chains.tiers >= chains.tiers - tiers);
            let rows: Vec<usize> = rows.map(|row| half * texts + row).collect();
            chains.texts.select(&rows)
        });
        halves.reduce(|before, half| before.followed_by(&half))
    };
    Some(Chains {
        tiers,
        texts: joined_half(0)?.followed_by(&joined_half(1)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batches::feature_rows::Features;
    use crate::records::order::Position;

    /// Returns tokens of texts of these lengths, whose ids are `first`, `first + 1` and so on.
    fn tokens(first: u32, lengths: &[usize]) -> TokenBatch {
        let len = lengths.iter().copied().max().unwrap_or(0);
        let mut ids = Vec::new();
        for (row, length) in (first..).zip(lengths) {
            ids.extend((0..len).map(|at| if at < *length { row } else { 0 }));
        }
        TokenBatch {
            ids,
            rows: lengths.len(),
            len,
        }
    }

    fn lane(tiers: usize, texts: TokenBatch, index: u64) -> Batch {
        let outline = Outline {
            images: 0,
            captions: tokens(50, &[1]),
            content: OutlineContent::Chains(tiers, texts),
            shards: vec![index as u32],
            keys: vec!["a".to_owned()],
            synsets: vec![None],
            position_after: Position { epoch: 0, index }.into(),
            skipped: BrokenCounts::default(),
        };
        outline.into_batch(8)
    }

    #[test]
    fn chains_of_all_lanes_have_the_length_of_the_shortest() {
        // Positives 10, 11, 12 and negatives 13, 14, 15; positives 20, 21 and negatives 22, 23.
        let long = lane(3, tokens(10, &[5, 1, 2, 5, 1, 1]), 1);
        let short = lane(2, tokens(20, &[1, 3, 1, 1]), 2);
        let spec = BatchSpec::new(2, 8, 8);
        let all = joined(vec![long, short], &spec).unwrap();
        let BatchContent::Chains(chains) = &all.content else {
            panic!("expected chains, found {:?}", all.content)
        };
        let size = (chains.texts.rows, chains.texts.len);
        assert_eq!((chains.tiers, size), (2, (8, 3)));
        let firsts = chains.texts.ids.chunks(3).map(|text| text[0]);
        assert!(firsts.eq([11, 12, 20, 21, 14, 15, 22, 23]));
        assert_eq!(&chains.texts.ids[3..9], [12, 12, 0, 20, 0, 0]);
        // Two shards may use the same key for two images.
        assert_eq!(all.shards, [1, 2]);
        assert_eq!(all.keys, ["a", "a"]);
        assert_eq!(all.same_images(), None);
        let indices: Vec<u64> = all.position_after.lanes().iter().map(|p| p.index).collect();
        assert_eq!(indices, [1, 2]);
        let again = joined(vec![lane(2, tokens(20, &[1; 4]), 2), all], &spec);
        assert_eq!(again.unwrap().same_images(), Some(vec![0, 1, 0]));
    }

    #[test]
    fn images_follow_each_other_and_their_rows_are_counted() {
        let images = |value: u8, count: usize| {
            ImageBatch::Pixels(Pixels {
                bytes: vec![value; 12 * count],
                count,
                size: 2,
            })
        };
        let mut all = images(1, 2);
        append(&mut all, images(2, 3));
        let ImageBatch::Pixels(all) = all else {
            panic!("expected pixels, found {all:?}")
        };
        assert_eq!((all.count, all.bytes.len()), (5, 60));
        assert_eq!((all.bytes[23], all.bytes[24]), (1, 2));
        let features = |value: f32, count: usize| {
            ImageBatch::Features(Features {
                values: vec![value; 4 * count],
                count,
                width: 4,
            })
        };
        let mut all = features(1.0, 2);
        append(&mut all, features(2.0, 1));
        let all = &all.features().unwrap().values;
        assert_eq!((all[7], all[8], all.len()), (1.0, 2.0, 12));
    }

    #[test]
    fn an_outline_survives_the_way_to_another_process() {
        let batch = lane(2, tokens(20, &[1, 3, 1, 1]), 2);
        let outline = Outline::of(&batch);
        let bytes = serde_json::to_vec(&outline).unwrap();
        assert_eq!(serde_json::from_slice::<Outline>(&bytes).unwrap(), outline);
    }
}
