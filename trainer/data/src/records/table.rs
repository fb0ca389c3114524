//! A dataset of numbered records: rows of an index file, images of one array, files of a list.
//! Loading a unit costs nothing, since each record is read separately.

use std::sync::Arc;

use crate::records::fault::Broken;
use crate::records::source::{Dataset, Record, Records, Unit};
use crate::records::walk::LeftOut;

/// Records that are shuffled and counted as one unit.
const RECORDS: usize = 1024;

/// Numbered records with a common name.
pub struct Table {
    name: String,
    records: Arc<dyn Records>,
    /// Records of each unit but the last.
    unit_size: usize,
    units: Vec<Unit>,
    left_out: LeftOut,
}

impl Table {
    /// Creates a dataset of the records 0 to `count - 1`; reports refer to them as `name`.
    pub fn new(name: String, count: usize, records: impl Records + 'static) -> Self {
        Self::in_units_of(RECORDS, name, count, records)
    }

    /// As [`new`](Self::new), with units of another size, at least 1.
    pub fn in_units_of(
        unit_size: usize,
        name: String,
        count: usize,
        records: impl Records + 'static,
    ) -> Self {
        let unit = |(part, first): (u32, usize)| {
            Unit::of_references(0, part, unit_size.min(count - first))
        };
        let firsts = (0..count).step_by(unit_size);
        Self {
            name,
            records: Arc::new(records),
            unit_size,
            units: (0..).zip(firsts).map(unit).collect(),
            left_out: LeftOut::new(),
        }
    }

    /// Adds the entries that are no records, by the rule that leaves them out.
    pub fn with_left_out(self, left_out: LeftOut) -> Self {
        Self { left_out, ..self }
    }
}

impl Dataset for Table {
    fn units(&self) -> &[Unit] {
        &self.units
    }

    fn shard_name(&self, _shard: u32) -> &str {
        &self.name
    }

    fn left_out(&self) -> LeftOut {
        self.left_out.clone()
    }

    fn load(&self, unit: usize) -> Result<Box<dyn Records>, Broken> {
        Ok(Box::new(Part {
            all: Arc::clone(&self.records),
            first: unit * self.unit_size,
        }))
    }
}

struct Part {
    all: Arc<dyn Records>,
    first: usize,
}

impl Records for Part {
    fn read(&self, row: usize) -> Result<Record, Broken> {
        self.all.read(self.first + row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::record_image::RecordImage;
    use crate::test_files::read_all;

    struct Numbers;

    impl Records for Numbers {
        fn read(&self, row: usize) -> Result<Record, Broken> {
            Ok(Record::labelled(
                row.to_string(),
                RecordImage::None,
                None,
                "",
            ))
        }
    }

    #[test]
    fn units_cover_every_record_once_and_in_order() {
        for count in [0, 1, 1024, 1025, 2500] {
            let table = Table::new("t".into(), count, Numbers);
            assert!(table.units().iter().all(|unit| unit.records > 0));
            let records = read_all(&table).into_iter();
            let keys: Vec<String> = records.map(|record| record.unwrap().key).collect();
            let expected: Vec<String> = (0..count).map(|i| i.to_string()).collect();
            assert_eq!(keys, expected);
        }
    }
}
