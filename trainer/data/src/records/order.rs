//! The order of an epoch: a pure function of `(seed, epoch, units)` and the units' weights.
//!
//! Units (parquet row groups, tars) are permuted as a whole; consecutive units are then merged into
//! groups as large as the [`ShuffleBudget`] allows, and the records of a group are permuted among
//! each other. In a unit with weight `w` other than 1, every record is used `floor(w)` times; the
//! fractional part is realised by a random subset of records, drawn again for each epoch. Reading
//! therefore holds one group in memory, and a [`Position`] is enough to continue: no generator has
//! to be replayed.

use serde::{Deserialize, Serialize};

use crate::records::random::{Purpose, Random};
use crate::records::source::Dataset;

/// Position of a run in its data: the next unread record.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Position {
    /// Completed passes over the data.
    pub epoch: u64,
    /// Records of this pass read so far, used or skipped.
    pub index: u64,
}

/// Limits of the data that is shuffled together, and thus held in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShuffleBudget {
    /// Most records of a group; exceeded only when a single unit has more.
    pub records: u64,
    /// Most bytes of the loaded units of a group; exceeded only when a single unit takes more.
    pub bytes: u64,
}

impl Default for ShuffleBudget {
    /// Returns 16,384 records and 512 MiB: four times the reference's buffer of 4,000 (notation 4),
    /// and small enough for a machine with 2 GiB of free memory.
    fn default() -> Self {
        Self {
            records: 16_384,
            bytes: 512 << 20,
        }
    }
}

/// Units that are shuffled together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Indices of the units.
    pub units: Vec<u32>,
    /// Index of the first record in the epoch.
    pub first: u64,
    /// Number of records.
    pub records: u64,
}

/// A record within a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot {
    /// Index into [`Group::units`].
    pub member: u32,
    /// Index of the record in that unit.
    pub row: u32,
}

/// The order of one epoch.
#[derive(Clone, Debug)]
pub struct EpochOrder {
    seed: u64,
    epoch: u64,
    groups: Vec<Group>,
}

/// Returns the number of records of a unit in one epoch, repetitions included.
pub(super) fn records_per_epoch(data: &dyn Dataset, unit: usize) -> u64 {
    (f64::from(data.units()[unit].records) * data.weight(unit)).round() as u64
}

/// Returns the number of records of an epoch over all units.
pub fn records_of_epoch(data: &dyn Dataset) -> u64 {
    (0..data.units().len())
        .map(|unit| records_per_epoch(data, unit))
        .sum()
}

impl EpochOrder {
    /// Computes the order of `epoch` over the units of a dataset.
    pub fn new(data: &dyn Dataset, seed: u64, epoch: u64, budget: ShuffleBudget) -> Self {
        let mut order: Vec<u32> = (0_u32..)
            .take(data.units().len())
            .filter(|unit| records_per_epoch(data, *unit as usize) > 0)
            .collect();
        Random::new(seed, Purpose::Units, epoch, 0).shuffle(&mut order);
        let mut groups: Vec<Group> = Vec::new();
        let (mut first, mut bytes) = (0, 0);
        for unit in order {
            let records = records_per_epoch(data, unit as usize);
            let size = data.units()[unit as usize].bytes;
            match groups.last_mut() {
                Some(group)
                    if group.records + records <= budget.records
                        && bytes + size <= budget.bytes =>
                {
                    group.units.push(unit);
                    group.records += records;
                    bytes += size;
                }
                _ => {
                    groups.push(Group {
                        units: vec![unit],
                        first,
                        records,
                    });
                    bytes = size;
                }
            }
            first += records;
        }
        Self {
            seed,
            epoch,
            groups,
        }
    }

    /// Returns the number of records in the epoch.
    pub fn records(&self) -> u64 {
        self.groups
            .last()
            .map_or(0, |group| group.first + group.records)
    }

    /// Returns the number of the group that holds record `index` of the epoch, `None` past the end.
    pub fn group_of(&self, index: u64) -> Option<usize> {
        (index < self.records()).then(|| {
            self.groups
                .partition_point(|group| group.first + group.records <= index)
        })
    }

    /// Returns group `number`.
    ///
    /// # Panics
    /// If `number` is not from [`EpochOrder::group_of`].
    pub fn group(&self, number: usize) -> &Group {
        &self.groups[number]
    }

    /// Returns the records of group `number` in the order in which they are read.
    ///
    /// # Panics
    /// If `number` is not from [`EpochOrder::group_of`] or `data` differs from the dataset given to
    /// `new`.
    pub fn slots(&self, number: usize, data: &dyn Dataset) -> Vec<Slot> {
        let group = &self.groups[number];
        let mut slots: Vec<Slot> = (0_u32..)
            .zip(&group.units)
            .flat_map(|(member, &unit)| {
                let rows = self.rows(unit, data);
                rows.into_iter().map(move |row| Slot { member, row })
            })
            .collect();
        Random::new(self.seed, Purpose::Group, self.epoch, number as u64).shuffle(&mut slots);
        slots
    }

    /// Returns the rows of a unit that this epoch reads, in no particular order.
    fn rows(&self, unit: u32, data: &dyn Dataset) -> Vec<u32> {
        let records = data.units()[unit as usize].records;
        let count = records_per_epoch(data, unit as usize);
        let repeats = count / u64::from(records.max(1));
        let mut rows: Vec<u32> = (0..repeats).flat_map(|_| 0..records).collect();
        let rest = count - rows.len() as u64;
        if rest > 0 {
            let mut shuffled: Vec<u32> = (0..records).collect();
            Random::new(self.seed, Purpose::Weight, self.epoch, u64::from(unit))
                .shuffle(&mut shuffled);
            rows.extend(shuffled.into_iter().take(rest as usize));
        }
        rows
    }
}

#[cfg(test)]
impl EpochOrder {
    /// Returns unit and row of all records, in order.
    pub(crate) fn places(&self, data: &dyn Dataset) -> Vec<(u32, u32)> {
        let mut places = Vec::new();
        while let Some(number) = self.group_of(places.len() as u64) {
            let group = self.group(number);
            assert_eq!(group.first, places.len() as u64);
            let slots = self.slots(number, data).into_iter();
            places.extend(slots.map(|slot| (group.units[slot.member as usize], slot.row)));
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::sampling::flawed::Flawed;

    #[test]
    fn an_epoch_is_a_permutation_of_all_records() {
        let data = Flawed::new(&[5, 0, 70, 3, 1, 40, 16]);
        let budget = ShuffleBudget {
            records: 32,
            bytes: 1000,
        };
        let order = EpochOrder::new(&data, 1, 0, budget).places(&data);
        let distinct: BTreeSet<_> = order.iter().copied().collect();
        assert_eq!(order.len(), 135);
        assert_eq!(distinct.len(), 135);
        let records = |unit: u32| data.units()[unit as usize].records;
        assert!(distinct.iter().all(|(unit, row)| *row < records(*unit)));
    }

    #[test]
    fn the_order_depends_only_on_seed_and_epoch() {
        let data = Flawed::new(&[50, 50, 50]);
        let order = |seed, epoch| {
            let budget = ShuffleBudget::default();
            EpochOrder::new(&data, seed, epoch, budget).places(&data)
        };
        assert_eq!(order(1, 0), order(1, 0));
        assert_ne!(order(1, 0), order(2, 0));
        assert_ne!(order(1, 0), order(1, 1));
    }

    #[test]
    fn groups_stay_within_the_budget_unless_one_unit_is_larger() {
        let data = Flawed::new(&[10, 10, 10, 100, 10]);
        let order = |records, bytes| EpochOrder::new(&data, 0, 0, ShuffleBudget { records, bytes });
        for group in &order(20, 1000).groups {
            assert!(group.records <= 20 || group.units == [3], "{group:?}");
        }
        // A unit has one byte.
        let order = order(1000, 2);
        assert!(order.groups.iter().all(|group| group.units.len() <= 2));
        assert_eq!(order.records(), 140);
    }

    #[test]
    fn records_of_merged_units_are_mixed() {
        let data = Flawed::new(&[100, 100]);
        let order = EpochOrder::new(&data, 0, 0, ShuffleBudget::default()).places(&data);
        let early = order[..100].iter().filter(|(unit, _)| *unit == 0).count();
        assert!((30..70).contains(&early), "{early}");
    }

    #[test]
    fn no_units_give_no_records() {
        let order = EpochOrder::new(&Flawed::new(&[]), 0, 0, ShuffleBudget::default());
        assert_eq!(order.records(), 0);
        assert_eq!(order.group_of(0), None);
    }
}
