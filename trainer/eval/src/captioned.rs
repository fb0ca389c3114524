//! Photos read as the page reads them: by the captioner of a bundle.

use espalier_checkpoints::model_file::{is_bundle, read_bundle};
use espalier_core::bundle::Part;
use espalier_core::caption::{Captioner, Engine};
use espalier_data::records::source::Record;
use espalier_data::{Coverage, Dataset};
use espalier_io::exit::usage;

use super::task::Context;

/// Opens the bundle of `--checkpoint` for captioning, on the CPU.
///
/// # Errors
/// Bad usage for a checkpoint that is no bundle: it has no captions and no calibration.
pub fn captioner(cx: &Context<'_, '_>, task: &str) -> anyhow::Result<Captioner> {
    let file = &cx.model()?.model.file;
    let folder = file.parent().filter(|folder| is_bundle(folder));
    let folder = folder.ok_or_else(|| {
        usage(format!(
            "--task {task}: expected a bundle, found a checkpoint; export it first"
        ))
    })?;
    let (manifest, _, files) = read_bundle(folder, &Part::OF_AN_ANSWER)?;
    Ok(Captioner::open(&manifest, &files, &Engine::Kernels)?)
}

/// Reads the first records of a dataset, without decoding their images; 0 means all. The coverage
/// counts the records, and those that are broken.
pub fn records(data: &dyn Dataset, most: usize) -> (Vec<Record>, Coverage) {
    let most = if most == 0 { usize::MAX } else { most };
    let mut coverage = Coverage::default();
    let mut records = Vec::new();
    let mut left = most;
    for (index, unit) in data.units().iter().enumerate() {
        let rows = (unit.records as usize).min(left);
        left -= rows;
        if rows == 0 {
            continue;
        }
        match data.load(index) {
            Err(broken) => coverage.absent(broken.fault.cause.description(), rows as u64),
            Ok(loaded) => {
                for row in 0..rows {
                    match loaded.read(row) {
                        Ok(record) => records.push(record),
                        Err(broken) => coverage.miss(broken.fault.cause.description(), &broken.key),
                    }
                }
            }
        }
    }
    coverage.usable(records.len() as u64);
    (records, coverage)
}
