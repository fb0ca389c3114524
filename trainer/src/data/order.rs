//! The order of an epoch: a pure function of `(seed, epoch, units)`.
//!
//! Units (parquet row groups, tars) are permuted as a whole; consecutive units are then merged
//! into groups as large as the [`ShuffleBudget`] allows and the records of a group are permuted
//! among each other. Reading therefore holds one group in memory, and a [`Position`] is all that
//! is needed to continue: no generator has to be replayed.

use serde::{Deserialize, Serialize};

use super::random::{Purpose, Random};
use super::source::Unit;

/// Where a run stands in its data: the next record that was not yet taken.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Position {
    /// Passes over the data that are complete.
    pub epoch: u64,
    /// Records of this pass that were taken, used or skipped.
    pub index: u64,
}

/// How much is shuffled together, and so held in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShuffleBudget {
    /// Records of a group; more only when a single unit has more.
    pub records: u64,
    /// Bytes that the loaded units of a group may take; more only when a single unit takes more.
    pub bytes: u64,
}

impl Default for ShuffleBudget {
    /// 16,384 records and 512 MiB: four times the reference's buffer of 4,000 (METHODS 4), and
    /// small enough for a machine with 2 GiB to spare.
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
    /// Index in the epoch of the first record.
    pub first: u64,
    /// Number of records.
    pub records: u64,
}

/// A record within a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot {
    /// Which of [`Group::units`].
    pub member: u32,
    /// Which record of that unit.
    pub row: u32,
}

/// The order of one epoch.
#[derive(Clone, Debug)]
pub struct EpochOrder {
    seed: u64,
    epoch: u64,
    groups: Vec<Group>,
}

impl EpochOrder {
    /// The order of `epoch` over `units`.
    #[must_use]
    pub fn new(units: &[Unit], seed: u64, epoch: u64, budget: ShuffleBudget) -> Self {
        let mut order: Vec<u32> = (0_u32..)
            .zip(units)
            .filter(|(_, unit)| unit.records > 0)
            .map(|(i, _)| i)
            .collect();
        Random::new(seed, Purpose::Units, epoch, 0).shuffle(&mut order);
        let mut groups: Vec<Group> = Vec::new();
        let (mut first, mut bytes) = (0, 0);
        for unit in order {
            let Unit {
                records,
                bytes: size,
                ..
            } = units[unit as usize];
            let records = u64::from(records);
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

    /// Number of records in the epoch.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.groups
            .last()
            .map_or(0, |group| group.first + group.records)
    }

    /// The group that holds record `index` of the epoch, `None` past the end.
    #[must_use]
    pub fn group_of(&self, index: u64) -> Option<usize> {
        (index < self.records()).then(|| {
            self.groups
                .partition_point(|group| group.first + group.records <= index)
        })
    }

    /// Group `number`.
    ///
    /// # Panics
    /// If `number` is not from [`EpochOrder::group_of`].
    #[must_use]
    pub fn group(&self, number: usize) -> &Group {
        &self.groups[number]
    }

    /// The records of group `number` in the order in which they are taken.
    ///
    /// # Panics
    /// If `number` is not from [`EpochOrder::group_of`] or `units` are not those of `new`.
    #[must_use]
    pub fn slots(&self, number: usize, units: &[Unit]) -> Vec<Slot> {
        let group = &self.groups[number];
        let mut slots: Vec<Slot> = (0_u32..)
            .zip(&group.units)
            .flat_map(|(member, &unit)| {
                (0..units[unit as usize].records).map(move |row| Slot { member, row })
            })
            .collect();
        Random::new(self.seed, Purpose::Group, self.epoch, number as u64).shuffle(&mut slots);
        slots
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn units(records: &[u32]) -> Vec<Unit> {
        records
            .iter()
            .map(|&records| Unit {
                shard: 0,
                part: 0,
                records,
                bytes: 10,
            })
            .collect()
    }

    fn walk(units: &[Unit], seed: u64, epoch: u64, budget: ShuffleBudget) -> Vec<(u32, u32)> {
        let order = EpochOrder::new(units, seed, epoch, budget);
        let mut out = Vec::new();
        let mut index = 0;
        while let Some(number) = order.group_of(index) {
            let group = order.group(number);
            assert_eq!(group.first, index);
            out.extend(
                order
                    .slots(number, units)
                    .iter()
                    .map(|slot| (group.units[slot.member as usize], slot.row)),
            );
            index += group.records;
        }
        out
    }

    #[test]
    fn an_epoch_is_a_permutation_of_all_records() {
        let units = units(&[5, 0, 70, 3, 1, 40, 16]);
        let budget = ShuffleBudget {
            records: 32,
            bytes: 1000,
        };
        let order = walk(&units, 1, 0, budget);
        let distinct: BTreeSet<_> = order.iter().copied().collect();
        assert_eq!(order.len(), 135);
        assert_eq!(distinct.len(), 135);
        assert!(
            distinct
                .iter()
                .all(|&(unit, row)| row < units[unit as usize].records)
        );
    }

    #[test]
    fn seed_and_epoch_change_the_order_and_nothing_else_does() {
        let units = units(&[50, 50, 50]);
        let budget = ShuffleBudget::default();
        assert_eq!(walk(&units, 1, 0, budget), walk(&units, 1, 0, budget));
        assert_ne!(walk(&units, 1, 0, budget), walk(&units, 2, 0, budget));
        assert_ne!(walk(&units, 1, 0, budget), walk(&units, 1, 1, budget));
    }

    #[test]
    fn groups_keep_to_the_budget_unless_one_unit_is_larger() {
        let units = units(&[10, 10, 10, 100, 10]);
        let order = EpochOrder::new(
            &units,
            0,
            0,
            ShuffleBudget {
                records: 20,
                bytes: 1000,
            },
        );
        for group in &order.groups {
            assert!(group.records <= 20 || group.units == [3], "{group:?}");
        }
        let order = EpochOrder::new(
            &units,
            0,
            0,
            ShuffleBudget {
                records: 1000,
                bytes: 20,
            },
        );
        assert!(order.groups.iter().all(|group| group.units.len() <= 2));
        assert_eq!(order.records(), 140);
    }

    #[test]
    fn records_of_merged_units_are_mixed() {
        let units = units(&[100, 100]);
        let order = walk(&units, 0, 0, ShuffleBudget::default());
        let early = order[..100].iter().filter(|(unit, _)| *unit == 0).count();
        assert!((30..70).contains(&early), "{early}");
    }

    #[test]
    fn no_units_give_no_records() {
        let order = EpochOrder::new(&[], 0, 0, ShuffleBudget::default());
        assert_eq!(order.records(), 0);
        assert_eq!(order.group_of(0), None);
    }
}
