//! What every dataset of the trainer promises of its records.

use espalier_trainer::data::Dataset;
use espalier_trainer::data::records::boxes::Region;
use espalier_trainer::data::records::source::Records;

/// Most records of a unit that are read: a footer may claim billions.
const MAX_RECORDS: usize = 64;

/// Reads the records of all units, twice.
///
/// # Panics
/// If a record differs when it is read again, or breaks a promise of its fields.
pub fn check(data: &dyn Dataset) {
    let mut total = 0;
    for (index, unit) in data.units().iter().enumerate() {
        total += u64::from(unit.records);
        assert!(!data.shard_name(unit.shard).is_empty());
        let Ok(loaded) = data.load(index) else {
            continue;
        };
        let records = unit.records as usize;
        let first = 0..records.min(MAX_RECORDS);
        let last = records.checked_sub(1).filter(|last| *last >= first.end);
        for row in first.chain(last) {
            check_record(&*loaded, row);
        }
    }
    assert_eq!(data.records(), total);
    assert_eq!(data.fingerprint().len(), 64);
}

fn check_record(loaded: &dyn Records, row: usize) {
    let (record, again) = (loaded.read(row), loaded.read(row));
    assert_eq!(format!("{record:?}"), format!("{again:?}"));
    let Ok(record) = record else {
        return;
    };
    for grounded in &record.boxes {
        if let Region::Relative(edges) = grounded.region {
            assert!(edges.iter().all(|edge| (0.0..=1.0).contains(edge)));
            assert!(edges[0] < edges[2] && edges[1] < edges[3], "{edges:?}");
        }
    }
    if let Some(chain) = &record.chain {
        assert_eq!(chain.positives.len(), chain.negatives.len());
    }
    // A damaged photo is an error, never a panic.
    let _ = record.image.size();
}
