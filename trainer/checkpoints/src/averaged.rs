//! The average of the last checkpoints of a run, as a model.

use std::path::{Path, PathBuf};

use espalier_core::bundle::sha256_hex;
use espalier_core::weights::Tensors;
use espalier_io::disk::run_folder::{MODEL, checkpoints};
use espalier_io::exit::usage;

use crate::model_file::{self, ModelCard};

/// Reads the newest `count` checkpoints of a run and averages their weights with equal shares: the path of
/// the newest file, a SHA-256 of all of them, the newest card, and the tensors.
///
/// # Errors
/// Bad usage if the run has fewer checkpoints, or one is broken.
pub fn read(run: &Path, count: usize) -> anyhow::Result<(PathBuf, String, ModelCard, Tensors)> {
    let all = checkpoints(run);
    let newest: Vec<&PathBuf> = all.iter().rev().take(count.max(1)).collect();
    if newest.len() < count || newest.is_empty() {
        return Err(usage(format!(
            "--average {count}: expected a run folder with as many checkpoints, found {} in {}; \
             train.keep sets how many a run keeps",
            all.len(),
            run.display()
        )));
    }
    let mut average = model_file::read(&newest[0].join(MODEL))?;
    let mut hashes = average.1.clone();
    for (earlier, checkpoint) in newest.iter().enumerate().skip(1) {
        let (file, sha256, _, tensors) = model_file::read(&checkpoint.join(MODEL))?;
        hashes.push_str(&sha256);
        // The mean of `earlier` models moves towards one more.
        let share = 1.0 / (earlier + 1) as f64;
        for (name, mean) in &mut average.3.tensors {
            let new = tensors.tensors.get(name);
            let new = new.filter(|new| new.shape == mean.shape).ok_or_else(|| {
                usage(format!(
                    "{}: expected a tensor {name} of shape {:?}, as in {}",
                    file.display(),
                    mean.shape,
                    average.0.display()
                ))
            })?;
            for (mean, new) in mean.data.iter_mut().zip(&new.data) {
                let moved = f64::from(*mean) + share * (f64::from(*new) - f64::from(*mean));
                *mean = moved as f32;
            }
        }
    }
    if newest.len() > 1 {
        average.1 = sha256_hex(hashes.as_bytes());
    }
    Ok(average)
}
