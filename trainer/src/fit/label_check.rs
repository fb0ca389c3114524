//! Whether the labels of the data are labels of the taxonomy: if none is, `loss.labels` has nothing
//! to teach.

use std::collections::HashSet;

use espalier_core::taxonomy::{NodeIx, Taxonomy};
use espalier_data::Dataset;
use espalier_io::exit::usage;

use crate::config::TrainConfig;

/// Number of parts of the data that are looked at, evenly spaced.
const UNITS: usize = 8;
/// Number of records of each part that are looked at.
const RECORDS: u32 = 64;

/// Checks, where `loss.labels` is above 0, that a record has a label of the taxonomy. Reading ends at
/// the first such record.
///
/// # Errors
/// Bad usage when none of up to 512 records from all over the data has one.
pub fn check_labels(
    data: &dyn Dataset,
    taxonomy: &Taxonomy,
    config: &TrainConfig,
) -> anyhow::Result<()> {
    if config.loss.labels == 0.0 {
        return Ok(());
    }
    let labels: HashSet<NodeIx> = taxonomy.labelled().iter().copied().collect();
    let units = data.units();
    let (mut seen, mut example) = (0_u64, None);
    for at in 0..units.len().min(UNITS) {
        let unit = at * units.len() / units.len().min(UNITS);
        // What cannot be read is counted when it is trained on.
        let Ok(records) = data.load(unit) else {
            continue;
        };
        for row in 0..units[unit].records.min(RECORDS) {
            let Ok(record) = records.read(row as usize) else {
                continue;
            };
            seen += 1;
            let of_boxes = record.boxes.iter().filter_map(|b| b.synset.as_ref());
            for id in of_boxes.chain(&record.synsets) {
                if taxonomy.find(id).is_some_and(|ix| labels.contains(&ix)) {
                    return Ok(());
                }
                example.get_or_insert_with(|| id.clone());
            }
        }
    }
    // Data that cannot be read at all has an error of its own.
    if seen == 0 {
        return Ok(());
    }
    let name = config.dataset.taxonomy.as_ref();
    let name = name.map_or_else(|| "the default".into(), |path| path.display().to_string());
    let expected = taxonomy.labelled().first();
    let expected = expected.map_or("", |ix| &taxonomy.node(*ix).id);
    let found = match example {
        Some(id) => format!("other labels, such as {id},"),
        None => "no label".to_owned(),
    };
    Err(usage(format!(
        "loss.labels: expected records with labels of the taxonomy ({name}; {} labels, such as \
         {expected}), found {found} in {seen} records; give the taxonomy of the data with --taxonomy, \
         or set loss.labels=0",
        labels.len(),
    )))
}
