//! The commands that are tested: how each is run first, how it is run again, and which files are its result.

use std::path::Path;

use clap::ValueEnum;

use super::inputs::{Inputs, words};

/// A command of `trainer`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Task {
    /// Training; given again, it is resumed
    Fit,
    /// A bundle from a checkpoint
    Export,
    /// A checkpoint of another program
    Import,
    /// Shards with the boxes cropped
    Prepare,
    /// Embeddings of photos
    Embed,
    /// An evaluation with its cache of embeddings
    Eval,
    /// A page with a model
    Site,
}

/// Steps of the training; there is a checkpoint after each, and all are kept.
const STEPS: u32 = 4;

impl Task {
    /// Returns whether the task reads a model that has to be trained before.
    pub(super) fn needs_a_model(self) -> bool {
        matches!(self, Self::Export | Self::Embed | Self::Eval | Self::Site)
    }

    /// Returns the name of the input that it reads, below the folder of inputs.
    pub(super) fn input(self) -> Option<&'static str> {
        match self {
            Self::Fit => None,
            Self::Export => Some("logs"),
            Self::Import => Some("published"),
            Self::Prepare => Some("shards"),
            Self::Embed | Self::Eval => Some("classes"),
            Self::Site => Some("bundle"),
        }
    }

    /// Returns the arguments: `input` is what it reads, `out` the folder of all that it writes;
    /// `again` after a first attempt.
    pub(super) fn arguments(
        self,
        inputs: &Inputs,
        input: &Path,
        out: &Path,
        again: bool,
    ) -> Vec<String> {
        let fit = format!(
            "fit --dataset synthetic --method clip --model vit_t8_64 --batch-size 4 --steps {STEPS} \
             --save-frequency 1 --warmup 1 --lr 1e-3 --deterministic --name a train.log_frequency=1 \
             train.keep={STEPS} dataset.synthetic_records=16 --logs $OUT"
        );
        let line: &str = match self {
            Self::Fit => &fit,
            Self::Export => {
                "export --dtype q6 --probe-size 8 --max-drop 100 --captions $ALL/captions.txt \
                 --checkpoint $INPUT/model --out $OUT/bundle"
            }
            Self::Import => "import $INPUT --out $OUT/checkpoint",
            Self::Prepare => "data prepare --dataset grit $INPUT --out $OUT/prepared",
            Self::Embed => {
                "embed --model $ALL/bundle --images $INPUT --out $OUT/embeddings.safetensors"
            }
            Self::Eval => {
                "eval --json --task zero-shot --checkpoint $ALL/logs/model --data $INPUT \
                 --cache $OUT/cache"
            }
            Self::Site => "export --page $ALL/page --checkpoint $INPUT --site $OUT/site",
        };
        let places = [
            ("$ALL", inputs.folder.as_path()),
            ("$INPUT", input),
            ("$OUT", out),
        ];
        let mut arguments = words(line, &places);
        if again && self == Self::Fit && out.join("a/config.toml").exists() {
            arguments.extend(["--resume".to_owned(), "latest".to_owned()]);
        }
        if again && matches!(self, Self::Export | Self::Import | Self::Site) {
            arguments.push("--force".into());
        }
        arguments
    }

    /// Returns whether a file of the folder of results is part of the result: the same bytes in every
    /// run. Logs with times are not.
    pub(super) fn is_result(self, path: &str) -> bool {
        match self {
            // The optimiser's state is written in the order of a hash table, and only a run that was
            // stopped before its first step has a checkpoint of step 0.
            Self::Fit => {
                let is_other = path.ends_with("/optim.bpk") || path.contains("_00000000/");
                path.starts_with("a/checkpoints/") && !is_other || path == "a/last_checkpoint.txt"
            }
            _ => true,
        }
    }

    /// Returns whether a file may stand there before the result is complete.
    pub(super) fn is_progress(self, path: &str) -> bool {
        match self {
            // Names the newest checkpoint, which may be an earlier one.
            Self::Fit => path == "a/last_checkpoint.txt",
            Self::Prepare => path == "prepared/preparing.json",
            _ => false,
        }
    }

    /// Returns whether a command that continues from its own results reads this file of them. Training
    /// continues from the checkpoint of the last step but one and does not read earlier ones, so it
    /// cannot notice damage there.
    pub(super) fn continues_from(self, path: &str) -> bool {
        let newest = format!("a/checkpoints/checkpoint_{:08}/", STEPS - 1);
        self != Self::Fit || !path.starts_with("a/checkpoints/") || path.starts_with(&newest)
    }

    /// Returns the files that say that what is beside them, and below, is complete.
    pub(super) fn marks(self) -> &'static [&'static str] {
        match self {
            Self::Fit => &[
                "a/checkpoints/checkpoint_00000001/",
                "a/checkpoints/checkpoint_00000002/",
                "a/checkpoints/checkpoint_00000003/",
                "a/checkpoints/checkpoint_00000004/",
            ],
            Self::Export => &["bundle/manifest.json"],
            Self::Prepare => &["prepared/prepared.json"],
            Self::Site => &["site/"],
            Self::Import | Self::Embed | Self::Eval => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn training_continues_from_the_newest_checkpoint_alone() {
        let continues = |path| Task::Fit.continues_from(path);
        assert!(continues("a/checkpoints/checkpoint_00000003/state.json"));
        assert!(continues("a/config.toml"));
        assert!(!continues("a/checkpoints/checkpoint_00000002/state.json"));
        assert!(Task::Eval.continues_from("cache/a.safetensors"));
    }
}
