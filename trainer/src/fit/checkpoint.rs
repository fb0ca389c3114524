//! Checkpoints: everything that is needed to continue on the next unseen sample.
//!
//! A checkpoint is written under a temporary name, flushed and renamed. Only then is it named in
//! `last_checkpoint.txt`. A process killed at any moment therefore leaves the last complete
//! checkpoint usable.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use burn::optim::ModuleOptimizer;
use burn::tensor::Bytes;
use espalier_core::model::DualEncoder;
use espalier_core::weights;
use serde::{Deserialize, Serialize};

use crate::data::Position;
use crate::disk::run_folder::{
    CHECKPOINTS, CLASSIFIER, LAST, MODEL, OPTIM, PREFIX, STATE, checkpoints,
};
use crate::disk::write::write_atomic;
use crate::exit::usage;
use crate::model_file::ModelCard;

/// Progress of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Number of completed steps.
    pub step: u64,
    /// Number of samples seen.
    pub samples: u64,
    /// Position in the data at which training continues.
    pub position: Position,
    /// Fingerprint of the data that the position belongs to.
    pub data: String,
    /// Seed of all random numbers; with `step` and `position` it is the whole random state.
    pub seed: u64,
}

/// The model of a checkpoint.
#[derive(Clone, Copy, Debug)]
pub struct Content<'a> {
    /// Weights of the model.
    pub model: &'a DualEncoder,
    /// Metadata of the model.
    pub card: &'a ModelCard,
    /// Content of the `classifier.safetensors` that goes with it, if there is one.
    pub classifier: Option<&'a [u8]>,
}

/// Writes a checkpoint below `folder` and deletes all but the newest `keep`.
///
/// # Errors
/// When a file cannot be written; earlier checkpoints stay unchanged.
pub fn save(
    folder: &Path,
    content: Content<'_>,
    optimizer: &ModuleOptimizer,
    state: &State,
    keep: usize,
) -> anyhow::Result<PathBuf> {
    let Content {
        model,
        card,
        classifier,
    } = content;
    let name = format!("{PREFIX}{:08}", state.step);
    let path = folder.join(CHECKPOINTS).join(&name);
    let tmp = folder.join(CHECKPOINTS).join(format!(".{name}.tmp"));
    if tmp.exists() {
        fs::remove_dir_all(&tmp).with_context(|| format!("removing {}", tmp.display()))?;
    }
    fs::create_dir_all(&tmp).with_context(|| format!("creating {}", tmp.display()))?;
    write_atomic(&tmp.join(MODEL), &weights::write(model, card.metadata()?)?)?;
    if let Some(classifier) = classifier {
        write_atomic(&tmp.join(CLASSIFIER), classifier)?;
    }
    let optim = optimizer
        .into_bytes()
        .map_err(|e| anyhow::anyhow!("optimiser state: {e:?}"))?;
    write_atomic(&tmp.join(OPTIM), &optim)?;
    write_atomic(&tmp.join(STATE), &serde_json::to_vec_pretty(state)?)?;
    if path.exists() {
        // A resumed run reaches the same step again and writes the same content.
        fs::remove_dir_all(&path).with_context(|| format!("replacing {}", path.display()))?;
    }
    fs::rename(&tmp, &path).with_context(|| format!("naming {}", path.display()))?;
    write_atomic(&folder.join(LAST), format!("{name}\n").as_bytes())?;
    for old in checkpoints(folder).into_iter().rev().skip(keep) {
        fs::remove_dir_all(&old).with_context(|| format!("removing {}", old.display()))?;
    }
    Ok(path)
}

/// Reads the state of a checkpoint.
///
/// # Errors
/// Bad usage when the folder is not a complete checkpoint.
pub fn read_state(path: &Path) -> anyhow::Result<State> {
    let file = path.join(STATE);
    let bytes = fs::read(&file).map_err(|e| {
        usage(format!(
            "{}: expected a checkpoint folder: {e}",
            file.display()
        ))
    })?;
    serde_json::from_slice(&bytes).map_err(|e| usage(format!("{}: {e}", file.display())))
}

/// Loads the state of a checkpoint into the optimiser.
///
/// # Errors
/// When the file cannot be read.
pub fn read_optimizer(path: &Path, optimizer: ModuleOptimizer) -> anyhow::Result<ModuleOptimizer> {
    let file = path.join(OPTIM);
    let bytes = fs::read(&file).with_context(|| format!("reading {}", file.display()))?;
    match optimizer.from_bytes(Bytes::from_bytes_vec(bytes)) {
        Ok(optimizer) => Ok(optimizer),
        Err(e) => bail!(
            "{}: expected the state of an optimiser: {e:?}",
            file.display()
        ),
    }
}
