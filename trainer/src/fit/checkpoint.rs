//! Checkpoints: everything that is needed to continue on the next unseen sample.
//!
//! A checkpoint is written under a temporary name, flushed and renamed. Only then is it named in
//! `last_checkpoint.txt`. A process killed at any moment therefore leaves the last complete
//! checkpoint usable.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use burn::optim::ModuleOptimizer;
use burn::tensor::Bytes;
use espalier_checkpoints::model_file::ModelCard;
use espalier_core::model::DualEncoder;
use espalier_core::weights;
use espalier_data::Positions;
use espalier_io::disk::read;
use espalier_io::disk::run_folder::{
    AVERAGE, CHECKPOINTS, CLASSIFIER, LAST, MODEL, OPTIM, PREFIX, STATE, checkpoints,
};
use espalier_io::disk::temporary::Temporary;
use espalier_io::disk::write::write_atomic;
use espalier_io::exit::usage;
use serde::{Deserialize, Serialize};

/// Progress of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Number of completed steps.
    pub step: u64,
    /// Number of samples seen.
    pub samples: u64,
    /// Positions in the data at which training continues, by lane.
    pub position: Positions,
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
    /// Average of the weights, if the run keeps one.
    pub average: Option<&'a DualEncoder>,
    /// Metadata of the model.
    pub card: &'a ModelCard,
    /// Content of the `classifier.safetensors` that goes with it, if there is one.
    pub classifier: Option<&'a [u8]>,
}

/// Returns the path of the checkpoint after a step.
pub fn path(folder: &Path, step: u64) -> PathBuf {
    folder.join(CHECKPOINTS).join(format!("{PREFIX}{step:08}"))
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
    let path = path(folder, state.step);
    let tmp = temporary(&path, "tmp")?;
    fs::create_dir_all(tmp.path()).with_context(|| format!("creating {}", tmp.path().display()))?;
    let write = |name: &str, bytes: &[u8]| write_atomic(&tmp.path().join(name), bytes);
    let card = content.card;
    write(MODEL, &weights::write(content.model, card.metadata()?)?)?;
    if let Some(average) = content.average {
        write(AVERAGE, &weights::write(average, card.metadata()?)?)?;
    }
    if let Some(classifier) = content.classifier {
        write(CLASSIFIER, classifier)?;
    }
    let optim = optimizer.into_bytes();
    let optim = optim.map_err(|e| anyhow!("optimiser state: {e:?}"))?;
    write(OPTIM, &optim)?;
    write(STATE, &serde_json::to_vec_pretty(state)?)?;
    if path.exists() {
        // A resumed run reaches the same step again and writes the same content.
        remove(&path)?;
    }
    tmp.rename_to(&path)
        .with_context(|| format!("naming {}", path.display()))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    write_atomic(&folder.join(LAST), format!("{name}\n").as_bytes())?;
    for old in checkpoints(folder).into_iter().rev().skip(keep) {
        remove(&old)?;
    }
    Ok(path)
}

/// Reserves a hidden name beside a checkpoint.
fn temporary(checkpoint: &Path, ending: &str) -> anyhow::Result<Temporary> {
    let name = checkpoint.file_name().unwrap_or_default().to_string_lossy();
    let path = checkpoint.with_file_name(format!(".{name}.{ending}"));
    Temporary::new(path.clone()).with_context(|| format!("removing {}", path.display()))
}

/// Removes a checkpoint. It loses its name first, so that a kill leaves no folder with a part of its
/// files.
fn remove(checkpoint: &Path) -> anyhow::Result<()> {
    let removed = temporary(checkpoint, "old.tmp")?;
    fs::rename(checkpoint, removed.path())
        .and_then(|()| fs::remove_dir_all(removed.path()))
        .with_context(|| format!("removing {}", checkpoint.display()))
}

/// Removes what a killed process left of checkpoints that it was writing or removing, since they may
/// fill the disk.
///
/// # Errors
/// When a folder cannot be removed.
pub fn remove_temporary(folder: &Path) -> anyhow::Result<()> {
    let Ok(entries) = fs::read_dir(folder.join(CHECKPOINTS)) else {
        return Ok(());
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(&format!(".{PREFIX}")) && name.ends_with(".tmp") {
            let path = entry.path();
            fs::remove_dir_all(&path).with_context(|| format!("removing {}", path.display()))?;
        }
    }
    Ok(())
}

/// Reads the state of a checkpoint.
///
/// # Errors
/// Bad usage when the folder is not a complete checkpoint.
pub fn read_state(path: &Path) -> anyhow::Result<State> {
    let file = path.join(STATE);
    let fail = |reason: String| usage(format!("{}: {reason}", file.display()));
    let bytes = read::bytes(&file);
    let bytes = bytes.map_err(|e| fail(format!("expected a checkpoint folder: {e}")))?;
    serde_json::from_slice(&bytes).map_err(|e| fail(e.to_string()))
}

/// Loads the state of a checkpoint into the optimiser.
///
/// # Errors
/// When the file cannot be read.
pub fn read_optimizer(path: &Path, optimizer: ModuleOptimizer) -> anyhow::Result<ModuleOptimizer> {
    let file = path.join(OPTIM);
    let bytes = read::bytes(&file).with_context(|| format!("reading {}", file.display()))?;
    let read = optimizer.from_bytes(Bytes::from_bytes_vec(bytes));
    read.map_err(|e| {
        let file = file.display();
        anyhow!("{file}: expected the state of an optimiser: {e:?}")
    })
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use espalier_core::model::{DualConfig, TextConfig, VitConfig};
    use espalier_fixtures::listing::names;

    use super::*;
    use crate::config::TrainConfig;
    use crate::fit::optimise::optimizer;

    /// Returns the state after a step.
    fn state(step: u64) -> State {
        State {
            step,
            samples: 4 * step,
            position: Positions::start(2),
            data: "synthetic".into(),
            seed: 11,
        }
    }

    #[test]
    fn a_checkpoint_is_read_as_it_was_saved_and_older_ones_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path();
        let vision = VitConfig::new(16, 8, 8, 1, 1);
        let config = DualConfig::new(vision, TextConfig::new(16, 4, 8, 1, 1), 8);
        let card = ModelCard::new(config.clone(), "clip");
        let model = config.init(&Device::flex());
        let run = TrainConfig::of_pairs(&["dataset.kind=\"synthetic\""]).unwrap();
        let optimizer = optimizer(&run.optim).unwrap();
        let save = |step, average, classifier| {
            let content = Content {
                model: &model,
                average,
                card: &card,
                classifier,
            };
            save(folder, content, &optimizer, &state(step), 2).unwrap()
        };
        save(3, None, None);
        save(5, None, None);
        let last = save(7, Some(&model), Some(b"labels"));
        // Resumed at 5, a run reaches 7 once more.
        assert_eq!(save(7, Some(&model), Some(b"labels")), last);

        assert_eq!(last, path(folder, 7));
        let kept = ["checkpoint_00000005", "checkpoint_00000007"];
        assert_eq!(names(&folder.join(CHECKPOINTS)), kept);
        let named = fs::read_to_string(folder.join(LAST)).unwrap();
        assert_eq!(named, "checkpoint_00000007\n");
        let files = [CLASSIFIER, AVERAGE, MODEL, OPTIM, STATE];
        assert_eq!(names(&last), files);
        assert_eq!(names(&path(folder, 5)), [MODEL, OPTIM, STATE]);
        assert_eq!(fs::read(last.join(CLASSIFIER)).unwrap(), b"labels");
        assert_eq!(read_state(&last).unwrap(), state(7));
        let read = read_optimizer(&last, optimizer.clone()).unwrap();
        let bytes = |optimizer: &ModuleOptimizer| optimizer.into_bytes().unwrap().to_vec();
        assert_eq!(bytes(&read), bytes(&optimizer));
        let message = read_state(folder).unwrap_err().to_string();
        let expected = "expected a checkpoint folder";
        assert!(message.contains(expected), "{message}");
    }

    #[test]
    fn what_a_kill_leaves_of_checkpoints_is_removed_and_complete_ones_stay() {
        let dir = tempfile::tempdir().unwrap();
        let all = dir.path().join(CHECKPOINTS);
        let whole = all.join("checkpoint_00000003");
        for folder in [
            &whole,
            &all.join(".checkpoint_00000004.tmp"),
            &all.join(".checkpoint_00000002.old.tmp"),
            &all.join(".notes"),
            &all.join(".notes.tmp"),
            &all.join(".checkpoint_of_mine"),
        ] {
            fs::create_dir_all(folder).unwrap();
            fs::write(folder.join(OPTIM), "x").unwrap();
        }
        remove_temporary(dir.path()).unwrap();
        let others = [".checkpoint_of_mine", ".notes", ".notes.tmp"];
        let kept = [&others[..], &["checkpoint_00000003"]].concat();
        assert_eq!(names(&all), kept);
        remove(&whole).unwrap();
        assert_eq!(names(&all), others);
    }
}
