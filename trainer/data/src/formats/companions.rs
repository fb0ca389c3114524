//! Boxes of other images with the same label (notation 2.9). They come from the records that are
//! shuffled together: these are more than one batch and already in memory.

use std::collections::BTreeMap;

use crate::records::fault::Broken;
use crate::records::order::Slot;
use crate::records::random::Random;
use crate::records::source::Record;

/// Boxes by label.
#[derive(Clone, Debug, Default)]
pub(crate) struct Companions(BTreeMap<String, Vec<BoxOf>>);

/// A box of a record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BoxOf {
    /// The record.
    pub(crate) slot: Slot,
    /// Index of the box in the record.
    pub(crate) box_index: usize,
}

impl Companions {
    /// Collects the labelled boxes of records; broken records have none.
    pub(crate) fn of(records: impl Iterator<Item = (Slot, Result<Record, Broken>)>) -> Self {
        let mut boxes: BTreeMap<String, Vec<BoxOf>> = BTreeMap::new();
        for (slot, record) in records {
            let Ok(record) = record else { continue };
            for (at, grounded) in record.boxes.iter().enumerate() {
                if grounded.region.relative().is_some() {
                    let with_label = boxes.entry(grounded.label().to_owned()).or_default();
                    with_label.push(BoxOf {
                        slot,
                        box_index: at,
                    });
                }
            }
        }
        Self(boxes)
    }

    /// Picks at most `limit` boxes with a label from records other than `own`, in random order.
    pub(crate) fn pick(
        &self,
        label: &str,
        own: Slot,
        limit: usize,
        random: &mut Random,
    ) -> Vec<BoxOf> {
        let all = self.0.get(label).map_or(&[][..], Vec::as_slice);
        let mut picked: Vec<BoxOf> = Vec::new();
        // Draws with replacement and a bounded number of attempts: a label may have thousands of
        // boxes, or none except those of `own`.
        for _ in 0..4 * limit {
            if picked.len() == limit || all.is_empty() {
                break;
            }
            let candidate =
                all[random.below(u32::try_from(all.len()).unwrap_or(u32::MAX)) as usize];
            if candidate.slot != own && !picked.contains(&candidate) {
                picked.push(candidate);
            }
        }
        picked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::boxes::{GroundedBox, Region};
    use crate::records::random::Purpose;
    use crate::records::record_image::RecordImage;

    fn record(labels: &[&str]) -> Result<Record, Broken> {
        let whole = Region::Relative([0.0, 0.0, 1.0, 1.0]);
        let grounded = |label: &&str| GroundedBox::new(*label, whole.clone(), None);
        Ok(Record {
            boxes: labels.iter().map(grounded).collect(),
            ..Record::labelled(String::new(), RecordImage::None, None, "")
        })
    }

    #[test]
    fn companions_have_the_label_and_are_of_other_records() {
        let slot = |row| Slot { member: 0, row };
        let records = [
            (slot(0), record(&["cat", "dog"])),
            (slot(1), record(&["cat"])),
            (slot(2), record(&["fish", "cat", "cat"])),
        ];
        let companions = Companions::of(records.into_iter());
        let mut random = Random::new(0, Purpose::Sample, 0, 0);
        let cats = companions.pick("cat", slot(0), 2, &mut random);
        assert_eq!(cats.len(), 2);
        assert!(cats.iter().all(|c| c.slot != slot(0)), "{cats:?}");
        assert_ne!(cats[0], cats[1]);
        assert_eq!(companions.pick("dog", slot(0), 2, &mut random), []);
        assert_eq!(companions.pick("owl", slot(0), 2, &mut random), []);
    }
}
