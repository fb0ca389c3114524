//! Lanes: parts of a dataset that are read side by side.
//!
//! The units of a dataset are dealt out to `L` lanes once for the whole run. Each lane has its own
//! order and its own [`Position`], and gives its part of the rows of every batch. Several processes
//! then read only the lanes of their own rows, while the batches depend on `L` alone, not on the
//! number of processes. One lane is the order of the whole dataset.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::Arc;

use espalier_io::ranks::share;
use serde::{Deserialize, Serialize};

use crate::records::fault::Broken;
use crate::records::order::{Position, records_per_epoch};
use crate::records::source::{Dataset, Records, Unit};

/// Position of a run in each lane of its data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Positions(Vec<Position>);

/// The form in a checkpoint: runs with one lane keep a single position.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Stored {
    One(Position),
    All(Vec<Position>),
}

impl From<Stored> for Positions {
    fn from(stored: Stored) -> Self {
        match stored {
            Stored::One(position) => Self(vec![position]),
            Stored::All(positions) => Self(positions),
        }
    }
}

impl From<Positions> for Stored {
    fn from(positions: Positions) -> Self {
        match positions.0[..] {
            [position] => Self::One(position),
            _ => Self::All(positions.0),
        }
    }
}

impl From<Position> for Positions {
    fn from(position: Position) -> Self {
        Self(vec![position])
    }
}

impl FromIterator<Position> for Positions {
    fn from_iter<I: IntoIterator<Item = Position>>(positions: I) -> Self {
        Self(positions.into_iter().collect())
    }
}

impl PartialEq<Position> for Positions {
    fn eq(&self, other: &Position) -> bool {
        self.0 == [*other]
    }
}

impl Positions {
    /// Returns the start of the data in `lanes` lanes.
    pub fn start(lanes: usize) -> Self {
        Self(vec![Position::default(); lanes])
    }

    /// Returns the positions by lane.
    pub fn lanes(&self) -> &[Position] {
        &self.0
    }

    /// Returns the position of the lane that is furthest behind.
    pub fn last(&self) -> Position {
        self.0.iter().min().copied().unwrap_or_default()
    }
}

/// Returns the lanes that hold rows of process `rank` of `world`, of a batch of `rows` rows; at least one.
///
/// Where the number of lanes is a multiple of the number of processes, no lane belongs to two of them.
pub fn lanes_of(rows: usize, lanes: usize, (rank, world): (usize, usize)) -> Range<usize> {
    let (from, count) = share(rows, rank, world);
    let lane_of = |row: usize| {
        let ends_after = |lane: &usize| {
            let (first, count) = share(rows, *lane, lanes);
            first + count > row
        };
        (0..lanes).find(ends_after).unwrap_or(lanes - 1)
    };
    let first = lane_of(from);
    first..lane_of((from + count).saturating_sub(1)).max(first) + 1
}

/// Deals out the units of a dataset to `lanes` lanes, so that these have about the same number of
/// records: each unit, in the order of the files, goes to the lane that has fewest.
fn deal(data: &dyn Dataset, lanes: usize) -> Vec<Vec<usize>> {
    let mut dealt = vec![Vec::new(); lanes];
    let mut sizes: BinaryHeap<_> = (0..lanes).map(|lane| Reverse((0, lane))).collect();
    for unit in 0..data.units().len() {
        let Some(Reverse((size, lane))) = sizes.pop() else {
            break;
        };
        dealt[lane].push(unit);
        sizes.push(Reverse((size + records_per_epoch(data, unit), lane)));
    }
    dealt
}

/// Returns the lanes of a dataset, each a dataset of its own; some have no units where there are fewer
/// units than lanes.
pub fn lanes(data: &Arc<dyn Dataset>, lanes: usize) -> Vec<Arc<dyn Dataset>> {
    if lanes == 1 {
        return vec![Arc::clone(data)];
    }
    let lane = |numbers: Vec<usize>| -> Arc<dyn Dataset> {
        Arc::new(Lane {
            units: numbers.iter().map(|at| data.units()[*at]).collect(),
            numbers,
            whole: Arc::clone(data),
        })
    };
    deal(&**data, lanes).into_iter().map(lane).collect()
}

/// Some units of a dataset.
struct Lane {
    whole: Arc<dyn Dataset>,
    units: Vec<Unit>,
    /// Their indices in the whole dataset.
    numbers: Vec<usize>,
}

impl Dataset for Lane {
    fn units(&self) -> &[Unit] {
        &self.units
    }

    fn shard_name(&self, shard: u32) -> &str {
        self.whole.shard_name(shard)
    }

    fn load(&self, unit: usize) -> Result<Box<dyn Records>, Broken> {
        self.whole.load(self.numbers[unit])
    }

    fn prefetch(&self, unit: usize) {
        self.whole.prefetch(self.numbers[unit]);
    }

    fn weight(&self, unit: usize) -> f64 {
        self.whole.weight(self.numbers[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Synthetic;
    use crate::test_files::read_all;

    #[test]
    fn one_lane_keeps_the_form_of_older_checkpoints() {
        let one = Positions::from(Position { epoch: 2, index: 7 });
        let text = serde_json::to_string(&one).unwrap();
        assert_eq!(text, r#"{"epoch":2,"index":7}"#);
        assert_eq!(serde_json::from_str::<Positions>(&text).unwrap(), one);
        let two: Positions = [5, 3]
            .map(|index| Position { epoch: 1, index })
            .into_iter()
            .collect();
        let text = serde_json::to_string(&two).unwrap();
        assert_eq!(serde_json::from_str::<Positions>(&text).unwrap(), two);
        assert_eq!(two.last(), Position { epoch: 1, index: 3 });
    }

    #[test]
    fn processes_share_a_lane_only_where_their_rows_meet_in_it() {
        let of = |lanes, world| -> Vec<_> {
            (0..world)
                .map(|rank| lanes_of(8, lanes, (rank, world)))
                .collect()
        };
        assert_eq!(of(4, 2), [0..2, 2..4]);
        assert_eq!(of(4, 4), [0..1, 1..2, 2..3, 3..4]);
        assert_eq!(lanes_of(8, 4, (0, 1)), 0..4);
        assert_eq!(of(1, 2), [0..1, 0..1]);
        // Rows 0 and 1, 2 to 4, 5 to 7 of lanes of two rows.
        assert_eq!(of(4, 3), [0..1, 1..3, 2..4]);
        // A process without rows reads a lane, as it does with one lane.
        assert_eq!(lanes_of(1, 1, (1, 2)), 0..1);
    }

    #[test]
    fn every_record_is_in_one_lane_and_lanes_are_about_equal() {
        // Units of 256 records.
        let data: Arc<dyn Dataset> = Arc::new(Synthetic::new(9000, 8, 0));
        let mut keys = Vec::new();
        for lane in lanes(&data, 4) {
            let records = lane.records();
            assert!((2048..=2304).contains(&records), "{records}");
            let records = read_all(&*lane).into_iter();
            keys.extend(records.map(|record| record.unwrap().key.parse::<u32>().unwrap()));
        }
        keys.sort_unstable();
        assert!(keys.into_iter().eq(0..9000));
    }
}
