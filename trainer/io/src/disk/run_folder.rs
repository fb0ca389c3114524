//! Names of the files in the folder of a run, and a list of its checkpoints.

use std::fs;
use std::path::{Path, PathBuf};

/// Metrics of a run, one JSON object a line.
pub const METRICS: &str = "metrics.jsonl";
/// Folder of the checkpoints.
pub const CHECKPOINTS: &str = "checkpoints";
/// Prefix of the names of checkpoint folders; the step follows.
pub const PREFIX: &str = "checkpoint_";
/// File that holds the name of the newest checkpoint, for people and other programs.
pub const LAST: &str = "last_checkpoint.txt";
/// Weights of a checkpoint, in safetensors.
pub const MODEL: &str = "model.safetensors";
/// Average of the weights of a run up to a checkpoint, in safetensors; only of runs that keep one.
pub const AVERAGE: &str = "ema.safetensors";
/// Classifier of the image encoder that the run started from.
pub const CLASSIFIER: &str = "classifier.safetensors";
/// State of the optimiser.
pub const OPTIM: &str = "optim.bpk";
/// Progress of the run: step, position in the data and seed.
pub const STATE: &str = "state.json";

/// Returns the complete checkpoints of a run, oldest first.
pub fn checkpoints(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder.join(CHECKPOINTS)) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .map(|e| e.path())
        .filter(|p| {
            p.file_name()
                .is_some_and(|n| n.to_string_lossy().starts_with(PREFIX))
        })
        .filter(|p| [MODEL, OPTIM, STATE].iter().all(|f| p.join(f).is_file()))
        .collect();
    found.sort();
    found
}

/// Returns the newest complete checkpoint of a run. It may be newer than the one that [`LAST`] names: a
/// process can be killed after the rename of a checkpoint and before that file is written.
pub fn latest(folder: &Path) -> Option<PathBuf> {
    checkpoints(folder).pop()
}
