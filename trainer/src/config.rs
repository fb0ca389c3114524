//! The configuration of a run: defaults, then a TOML file, then flags, then `key=value`.

mod layers;
mod loss;
mod method_name;
mod needs;
mod precision;
mod rank_text;
mod recipes;
mod rules;
mod schedule;
mod trains;

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::ValueEnum;
use espalier_core::model::{DualConfig, Preset};
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use crate::exit::usage;

use layers::{merge, set};
pub use loss::{Angles, LossConfig, PartsSpace, RootKind};
pub use method_name::MethodName;
pub use needs::Needs;
pub use precision::Precision;
pub use rank_text::RankText;
use recipes::{layer_text, method_layer};
pub use schedule::Schedule;
pub use trains::Trains;

/// What a run is trained on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DatasetKind {
    /// Image-text-box shards.
    Grit,
    /// Chains of captions with contradictions, CSV.
    Hierarcaps,
    /// Pictures or texts with a place in a taxonomy.
    Taxonomy,
    /// Pictures with all their boxes.
    Parts,
    /// Coloured shapes made on the fly.
    Synthetic,
}

/// `[dataset]`: where samples come from and how they are drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatasetConfig {
    /// Kind of dataset.
    pub kind: DatasetKind,
    /// Files, folders and globs.
    pub data: Vec<PathBuf>,
    /// How often an epoch takes the records of each of `data`, on average; empty for once each.
    pub weights: Vec<f64>,
    /// The same for validation; empty for none.
    pub val_data: Vec<PathBuf>,
    /// Taxonomy file, or a shipped taxonomy by name: `wordnet`, also where it is not set, or
    /// `imagenet`.
    pub taxonomy: Option<PathBuf>,
    /// Records of the synthetic set.
    pub synthetic_records: u64,
    /// Smallest side, in pixels, of a square with the area of the smallest box; scaled to the
    /// model's input where it is not set.
    pub min_box_px: Option<f64>,
    /// Whether pictures and boxes are centred on a white square before they are cropped.
    pub white_pad: bool,
    /// Area of random crops, as a share of the picture.
    pub crop_scale: [f32; 2],
    /// Whether every other record is seen in a mirror, where no text of it speaks of left or right.
    pub mirror: bool,
    /// Probability that a picture or box is blurred, compressed or darkened, by any share of what
    /// `eval --change` measures.
    pub worn: f32,
    /// Probability that the phrase of a box is replaced by the name of one of its ancestors.
    pub climb: f32,
    /// Threads that decode, crop and tokenise; 0 for one per core.
    pub workers: usize,
    /// Share of broken records at which a run stops.
    pub max_broken: f64,
    /// Texts of a chain made from a taxonomy; 0 for as many as all its labels have, within 3 to 7.
    pub tiers: usize,
    /// How the text of a rank is made of names.
    pub rank_text: RankText,
    /// Tier of HierarCaps that is left out, 1 to 4; 0 for none.
    pub drop_tier: usize,
    /// Boxes of other pictures with the same label that each box brings a pair with (notation 2.9).
    pub cross_image: usize,
    /// Views of each photo and crop whose features are kept, at least 1: the crop of evaluation, then
    /// random ones (`crop_scale`, `mirror`, `worn`).
    pub feature_views: u32,
    /// Table of nouns for `loss.nouns`.
    pub nouns: Option<PathBuf>,
    /// Nouns of a step.
    #[serde(default)]
    pub nouns_per_step: usize,
    /// Feature rows of a step that are drawn from the classifier, of classes that need no photo; 0
    /// for none.
    pub synthetic_features: usize,
    /// Share of the diagonal in the within-class covariance that they are drawn with, in [0, 1].
    pub synthetic_shrinkage: f64,
    /// How far their class means lie from the mean of all classes; 1 is where Fisher's linear
    /// discriminant has them.
    pub synthetic_spread: f64,
    /// Standard deviation of their noise, as a multiple of that within a class.
    pub synthetic_noise: f64,
}

/// `[model]`: the architecture and where its weights start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// Named architecture.
    pub preset: Preset,
    /// Checkpoint to start from; random weights where it is not set.
    pub init: Option<PathBuf>,
    /// Architecture of a checkpoint that was imported, in place of the named one.
    pub architecture: Option<DualConfig>,
}

impl ModelConfig {
    /// The architecture, before a method puts it into its space.
    #[must_use]
    pub fn architecture(&self) -> DualConfig {
        let own = self.architecture.clone();
        own.unwrap_or_else(|| self.preset.config())
    }
}

/// Which parameters decay (notation 4, traps 4 and 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecayGroups {
    /// As the published code does it: all but the learned scalars; the scalars of PHyCLIP's factors
    /// decay too.
    Code,
    /// As the papers write it: no learned scalar, bias or normalisation.
    Paper,
}

/// `[optim]`: AdamW and its schedule (notation 4).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OptimConfig {
    /// Largest learning rate.
    pub lr: f64,
    /// Decoupled weight decay.
    pub wd: f32,
    /// AdamW's first moment.
    pub beta1: f32,
    /// AdamW's second moment.
    pub beta2: f32,
    /// AdamW's epsilon.
    pub eps: f32,
    /// Steps of linear warm-up.
    pub warmup: u64,
    /// How the learning rate moves.
    pub schedule: Schedule,
    /// Which parameters decay.
    pub wd_groups: DecayGroups,
    /// Largest norm of the whole gradient; 0 for no clipping.
    pub grad_clip_norm: f64,
}

/// `[train]`: how long, how large, how often.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainConfigBlock {
    /// Method.
    pub method: MethodName,
    /// Samples of a pass.
    pub batch_size: usize,
    /// Passes that make one step; their samples are contrasted with each other as one batch.
    pub accum_freq: usize,
    /// What the towers compute in.
    pub precision: Precision,
    /// Whether activations are computed anew in the backward pass instead of kept.
    pub grad_checkpointing: bool,
    /// Threads that share a pass through the towers; 0 for one per core on a CPU, one on a GPU.
    pub tower_threads: usize,
    /// Whether the same run gives the same bits on any number of cores; on the CPU alone.
    pub deterministic: bool,
    /// Whether the image encoder stays as it is; its projection learns (LiT).
    pub lock_image: bool,
    /// Whether the projection of the image encoder stays as it is.
    pub lock_projection: bool,
    /// Whether a locked image encoder computes the features of each photo and crop once, before the
    /// first step, instead of at every step.
    pub keep_features: bool,
    /// Folder of kept features; `espalier/features` in the user's cache folder where it is not set.
    pub feature_cache: Option<PathBuf>,
    /// Whether the text tower stays as it is.
    pub lock_text: bool,
    /// Steps of the run; 0 when `epochs` says how long.
    pub steps: u64,
    /// Epochs of the run; 0 when `steps` says how long.
    pub epochs: u64,
    /// Seed of weights, order and augmentation.
    pub seed: u64,
    /// Steps between checkpoints; 0 for a tenth of the run, within 20 to 500.
    pub save_frequency: u64,
    /// Checkpoints that are kept.
    pub keep: usize,
    /// Steps between lines of `metrics.jsonl`.
    pub log_frequency: u64,
    /// Batches of the validation data whose loss is measured at every checkpoint.
    pub val_batches: u64,
    /// Share of the patches that the picture tower sees in training, in `(0, 1]`.
    pub patch_keep: f64,
    /// Share of the run, from its beginning, on pictures of half the side, in `[0, 1]`: for a picture
    /// tower of convolutions alone, which learns much of what it learns from them.
    pub half_size: f64,
    /// Steps over which the weight of the entailment grows from 0 to its full value. From random
    /// weights the cones are satisfied soonest by a single point for all pictures and one for all
    /// texts, which the contrast then takes hundreds of steps to leave.
    pub entail_ramp: u64,
}

/// Everything that a run depends on; saved as `config.toml` in its folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainConfig {
    /// Data.
    pub dataset: DatasetConfig,
    /// Model.
    pub model: ModelConfig,
    /// Optimiser.
    pub optim: OptimConfig,
    /// Loss.
    pub loss: LossConfig,
    /// Loop.
    pub train: TrainConfigBlock,
}

/// The defaults: every key of every block, with a comment.
pub const BASE: &str = include_str!("../configs/base.toml");

impl TrainConfig {
    /// Merge defaults, those of the method, a TOML file, flags and `key=value` pairs, later ones
    /// winning.
    ///
    /// # Errors
    /// Bad usage naming the file or pair, for a key that does not exist (with those that do) or a
    /// value of the wrong type or range.
    pub fn resolve(file: Option<&Path>, flags: Table, pairs: &[String]) -> anyhow::Result<Self> {
        let base: Table = BASE.parse().context("configs/base.toml")?;
        let layer: Table = match file {
            Some(path) => layer_text(path)?
                .parse()
                .map_err(|e| usage(format!("--config {}: {e}", path.display())))?,
            None => Table::new(),
        };
        let over = |mut table: Table| -> anyhow::Result<Table> {
            merge(&mut table, layer.clone());
            merge(&mut table, flags.clone());
            for pair in pairs {
                set(&mut table, pair)?;
            }
            Ok(table)
        };
        // Once to learn which method it is, once more above that method's own defaults.
        let mut table = over(base.clone())?;
        if let Some(method) = method_layer(&table) {
            let mut base = base;
            merge(&mut base, method.parse().context("defaults of the method")?);
            table = over(base)?;
        }
        let config: Self = Value::Table(table)
            .try_into()
            .map_err(|e: toml::de::Error| usage(format!("configuration: {}", e.message())))?;
        config.check()?;
        Ok(config)
    }

    /// The same configuration with the names of files but not the folders of this machine, for
    /// what is published.
    #[must_use]
    pub fn without_folders(mut self) -> Self {
        let name = |path: &PathBuf| path.file_name().map_or_else(PathBuf::new, PathBuf::from);
        let (d, m) = (&mut self.dataset, &mut self.model);
        d.data = d.data.iter().map(name).collect();
        d.val_data = d.val_data.iter().map(name).collect();
        d.taxonomy = d.taxonomy.as_ref().map(name);
        d.nouns = d.nouns.as_ref().map(name);
        m.init = m.init.as_ref().map(name);
        self.train.feature_cache = None;
        self
    }

    /// Samples of a step.
    #[must_use]
    pub fn samples_of_step(&self) -> usize {
        self.train.batch_size * self.train.accum_freq
    }

    /// Bytes of one checkpoint: weights and two moments, in `f32`.
    #[must_use]
    pub fn checkpoint_bytes(&self) -> u64 {
        3 * 4 * self.model.architecture().parameters()
    }

    /// The configuration as TOML.
    ///
    /// # Errors
    /// When it cannot be written as TOML, which no checked configuration meets.
    pub fn to_toml(&self) -> anyhow::Result<String> {
        toml::to_string(self).context("writing the configuration")
    }
}

#[cfg(test)]
mod tests {
    use super::recipes::PAPERS;
    use super::*;

    #[test]
    fn the_shipped_defaults_are_a_whole_configuration() {
        let config = TrainConfig::resolve(None, Table::new(), &[]).unwrap();
        let again = config.to_toml().unwrap().parse::<Table>().unwrap();
        assert_eq!(TrainConfig::resolve(None, again, &[]).unwrap(), config);
    }

    #[test]
    fn what_is_published_names_no_folder() {
        let pairs = ["dataset.data=[\"/secret/place/a.parquet\"]".to_owned()];
        let config = TrainConfig::resolve(None, Table::new(), &pairs)
            .unwrap()
            .without_folders();
        assert_eq!(config.dataset.data, [PathBuf::from("a.parquet")]);
        assert!(!config.to_toml().unwrap().contains("secret"));
    }

    #[test]
    fn the_defaults_of_a_method_lie_above_the_general_ones_and_below_what_is_said() {
        let of = |pairs: &[&str]| {
            let pairs: Vec<String> = pairs.iter().map(|p| (*p).to_owned()).collect();
            TrainConfig::resolve(None, Table::new(), &pairs).unwrap()
        };
        assert_eq!(of(&["train.method=re"]).optim.lr, 5e-5);
        assert_eq!(of(&["train.method=re", "optim.lr=1e-6"]).optim.lr, 1e-6);
        assert_eq!(of(&["train.method=clip"]).optim.lr, 1e-3);
    }

    #[test]
    fn every_paper_has_a_recipe_that_is_valid() {
        for (name, _) in PAPERS {
            let path = PathBuf::from(format!("paper:{name}"));
            TrainConfig::resolve(Some(&path), Table::new(), &[]).unwrap();
            assert!(
                MethodName::from_str(name, false).is_ok(),
                "{name} is no method"
            );
        }
        let error = TrainConfig::resolve(Some(Path::new("paper:clop")), Table::new(), &[]);
        assert!(error.unwrap_err().to_string().contains("one of clip, meru"));
    }

    #[test]
    fn later_layers_win_and_unknown_keys_are_named() {
        let pairs = ["optim.lr=1e-3".to_owned(), "train.method=clip".to_owned()];
        let config = TrainConfig::resolve(None, Table::new(), &pairs).unwrap();
        assert_eq!(config.optim.lr, 1e-3);
        assert_eq!(config.train.method, MethodName::Clip);
        let pairs = ["dataset.data=[\"a\", \"b\"]", "dataset.weights=1,0.5"];
        let pairs = pairs.map(str::to_owned);
        let config = TrainConfig::resolve(None, Table::new(), &pairs).unwrap();
        assert_eq!(config.dataset.weights, [1.0, 0.5]);
        let error = TrainConfig::resolve(None, Table::new(), &pairs[1..]).unwrap_err();
        assert!(error.to_string().contains("one number above 0"), "{error}");

        let error = TrainConfig::resolve(None, Table::new(), &["loss.nothing=1".into()]);
        let error = error.unwrap_err().to_string();
        assert!(error.contains("0 where loss.labels is"), "{error}");

        let error =
            TrainConfig::resolve(None, Table::new(), &["optim.speed=9".into()]).unwrap_err();
        assert!(
            error.to_string().contains("unknown field `speed`"),
            "{error}"
        );
        assert_eq!(crate::exit_code::code(&error), 2);
        let error = TrainConfig::resolve(None, Table::new(), &["lr=9".into()]).unwrap_err();
        assert!(error.to_string().contains("block.key=value"), "{error}");
    }
}
