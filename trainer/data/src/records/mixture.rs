//! Several datasets as one, each with a weight.

use std::sync::Arc;

use crate::records::fault::Broken;
use crate::records::source::{Dataset, Records, Unit};
use crate::records::walk::{self, LeftOut};

/// Datasets that are shuffled together. Each record of a dataset with weight `w` is drawn `w` times
/// per epoch on average.
pub struct Mixture {
    sources: Vec<(Arc<dyn Dataset>, f64)>,
    units: Vec<Unit>,
    /// Source of each unit and the unit's index in it.
    unit_sources: Vec<(usize, usize)>,
    /// First shard of each source.
    first_shards: Vec<u32>,
}

impl Mixture {
    /// Creates a mixture of datasets with their weights, which must be finite and above 0.
    pub fn new(sources: Vec<(Arc<dyn Dataset>, f64)>) -> Self {
        let (mut units, mut unit_sources, mut first_shards) = (Vec::new(), Vec::new(), Vec::new());
        let mut next = 0;
        for (source, (data, _)) in sources.iter().enumerate() {
            first_shards.push(next);
            let first = next;
            for (index, unit) in data.units().iter().enumerate() {
                unit_sources.push((source, index));
                next = next.max(first + unit.shard + 1);
                units.push(Unit {
                    shard: first + unit.shard,
                    ..*unit
                });
            }
        }
        Self {
            sources,
            units,
            unit_sources,
            first_shards,
        }
    }
}

impl Dataset for Mixture {
    fn units(&self) -> &[Unit] {
        &self.units
    }

    fn shard_name(&self, shard: u32) -> &str {
        let source = self.first_shards.partition_point(|first| *first <= shard) - 1;
        let (data, _) = &self.sources[source];
        data.shard_name(shard - self.first_shards[source])
    }

    fn load(&self, unit: usize) -> Result<Box<dyn Records>, Broken> {
        let (source, unit) = self.unit_sources[unit];
        self.sources[source].0.load(unit)
    }

    fn prefetch(&self, unit: usize) {
        let (source, unit) = self.unit_sources[unit];
        self.sources[source].0.prefetch(unit);
    }

    fn left_out(&self) -> LeftOut {
        let mut all = LeftOut::new();
        for (data, _) in &self.sources {
            walk::merge(&mut all, data.left_out());
        }
        all
    }

    fn weight(&self, unit: usize) -> f64 {
        self.sources[self.unit_sources[unit].0].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Synthetic;
    use crate::records::order::{EpochOrder, ShuffleBudget};

    #[test]
    fn records_are_drawn_in_proportion_to_their_weight() {
        let part = |records, weight| {
            let data: Arc<dyn Dataset> = Arc::new(Synthetic::new(records, 16, 0));
            (data, weight)
        };
        let mixture = Mixture::new(vec![part(40, 2.5), part(100, 0.25), part(10, 1.0)]);
        let first_of = |source| {
            let position = mixture.unit_sources.iter().position(|(s, _)| *s == source);
            position.unwrap_or_default() as u32
        };
        let (second, third) = (first_of(1), first_of(2));
        let order = EpochOrder::new(&mixture, 0, 0, ShuffleBudget::default());
        assert_eq!((order.records(), mixture.records()), (135, 150));
        let mut counts = [0; 3];
        for (unit, _) in order.places(&mixture) {
            counts[usize::from(unit >= second) + usize::from(unit >= third)] += 1;
        }
        assert_eq!(counts, [100, 25, 10]);
        let loaded = mixture.load(second as usize);
        assert!(loaded.is_ok_and(|unit| unit.read(0).is_ok()));
        let shard = mixture.units[third as usize].shard;
        assert!(!mixture.shard_name(shard).is_empty());
    }
}
