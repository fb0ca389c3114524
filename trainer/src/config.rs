//! The configuration of a run: defaults, then a TOML file, then flags, then `key=value`.

mod choices;
mod layers;
mod loss;
mod method_name;
mod recipes;
mod renamed;
mod rules;
mod schedule;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::Context;
pub use choices::{Precision, ReportTo};
use clap::ValueEnum;
use espalier_core::model::{Arithmetic, DualConfig, Preset};
pub use espalier_data::{Needs, RankText};
use espalier_io::exit::usage;
use layers::{layer_of, merge, read_table};
pub use loss::*;
pub use method_name::{MethodName, Trainable};
use recipes::{layer_text, method_layer};
use renamed::rename;
pub use schedule::Schedule;
use serde::{Deserialize, Serialize};
use toml::Table;

/// Kind of the training data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DatasetKind {
    /// Image-text-box shards.
    Grit,
    /// Images with captions and no boxes: Karpathy's or COCO's captions JSON, tables, text files beside
    /// images, shards.
    Captions,
    /// Chains of captions with contradictory captions, CSV.
    Hierarcaps,
    /// Images or texts with a node of a taxonomy.
    Taxonomy,
    /// Images with all their boxes.
    Parts,
    /// Coloured shapes generated on the fly.
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
    /// Average number of times per epoch that the records of each path in `data` are used; empty
    /// for once each.
    pub weights: Vec<f64>,
    /// Files, folders and globs for validation; empty for none.
    pub val_data: Vec<PathBuf>,
    /// Taxonomy file, or the name of a shipped one: `wordnet` (the default) or `imagenet`.
    pub taxonomy: Option<PathBuf>,
    /// Number of records of the synthetic dataset.
    pub synthetic_records: u64,
    /// Minimum size of a box: the side, in pixels, of a square with its area. If unset, 32 px at
    /// 224 px, scaled to the model's input size.
    pub min_box_px: Option<f64>,
    /// Whether images and boxes are centred on a white square before they are cropped.
    pub white_pad: bool,
    /// Smallest and largest area of random crops, as fractions of the image.
    pub crop_scale: [f32; 2],
    /// Whether each record is flipped horizontally with probability 1/2, unless one of its texts
    /// mentions left or right.
    pub hflip: bool,
    /// Probability that an image or box is blurred, compressed or darkened, at a random strength up
    /// to that of `eval --change`.
    pub corrupt_prob: f32,
    /// Probability that the phrase of a box is replaced by the name of one of its ancestors.
    pub hypernym_prob: f32,
    /// Number of threads that decode, crop and tokenise; 0 for one per core.
    pub workers: usize,
    /// Number of lanes that the data is dealt out to, each with its share of every batch. A process of
    /// a run reads only the lanes of its rows.
    pub lanes: usize,
    /// Fraction of broken records at which a run stops.
    pub max_broken: f64,
    /// Folder that keeps data from object storage; if unset, `espalier/data` in the user's cache folder.
    pub data_cache: Option<PathBuf>,
    /// Maximum size of that folder in GiB.
    pub data_cache_gib: u64,
    /// Number of texts in a chain built from a taxonomy; 0 for the number that every label has,
    /// clamped to 3 to 7.
    pub tiers: usize,
    /// How the text of a rank is built from names.
    pub rank_text: RankText,
    /// Vocabulary of the chains that are made from captions; the shipped one if unset.
    #[serde(default)]
    pub statements: Option<PathBuf>,
    /// Tier of HierarCaps that is skipped, 1 to 4; 0 for none.
    pub drop_tier: usize,
    /// Chains of texts in the form of HierarCaps, without images: half of the pairs of `loss.order`
    /// come from these.
    #[serde(default)]
    pub chains: Vec<PathBuf>,
    /// Number of pairs of texts per step for `loss.order`.
    #[serde(default = "order_pairs")]
    pub order_pairs: usize,
    /// Maximum number of boxes with the same label in other images that each box is paired with
    /// (notation 2.9).
    pub cross_image: usize,
    /// Number of views of each photo and crop whose features are cached, at least 1: the evaluation
    /// crop, then random ones (`crop_scale`, `hflip`, `corrupt_prob`).
    pub feature_views: u32,
    /// Table of nouns for `loss.nouns`.
    pub nouns: Option<PathBuf>,
    /// Number of nouns per step.
    #[serde(default)]
    pub nouns_per_step: usize,
    /// Nouns outside the taxonomy with at least this many nouns at or below them are targets of
    /// `loss.nouns` too; 0 for none.
    #[serde(default)]
    pub general_nouns: usize,
    /// Number of feature rows per step that are sampled from the classifier, for classes without
    /// photos; 0 for none.
    pub synthetic_features: usize,
    /// Weight of the diagonal in the within-class covariance of the sampled features, in [0, 1].
    pub synthetic_shrinkage: f64,
    /// Distance of their class means from the mean of all classes; 1 gives the means of Fisher's
    /// linear discriminant.
    pub synthetic_spread: f64,
    /// Standard deviation of their noise, as a multiple of the within-class standard deviation.
    pub synthetic_noise: f64,
}

/// Number of pairs in configurations from before they had a key.
const fn order_pairs() -> usize {
    64
}

/// `[model]`: the architecture and where its weights start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// Named architecture.
    pub preset: Preset,
    /// Checkpoint to start from; random weights if unset.
    pub init: Option<PathBuf>,
    /// Checkpoint with the same image encoder, projection included, whose text encoder is the teacher
    /// of this one.
    #[serde(default)]
    pub text_teacher: Option<PathBuf>,
    /// Whether all images get the same radius.
    #[serde(default)]
    pub equal_image_radii: bool,
    /// Architecture of an imported checkpoint; replaces `preset`.
    pub architecture: Option<DualConfig>,
}

impl ModelConfig {
    /// Returns the architecture, before a method sets the embedding space.
    pub fn architecture(&self) -> DualConfig {
        let architecture = self.architecture.clone();
        let mut architecture = architecture.unwrap_or_else(|| self.preset.config());
        architecture.equal_image_radii |= self.equal_image_radii;
        // A bundle that a run starts from may multiply integers, training never does.
        architecture.vision.arithmetic = Arithmetic::Float32;
        architecture
    }
}

/// Parameters with weight decay (notation 4, traps 4 and 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecayGroups {
    /// As in the published code: all except the learned scalars; the scalars of PHyCLIP's factors
    /// decay as well.
    Code,
    /// As in the papers: all except learned scalars, biases and normalisation layers.
    Paper,
}

/// `[optim]`: AdamW and its schedule (notation 4).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OptimConfig {
    /// Peak learning rate.
    pub lr: f64,
    /// Decoupled weight decay.
    pub wd: f32,
    /// AdamW's decay rate of the first moment.
    pub beta1: f32,
    /// AdamW's decay rate of the second moment.
    pub beta2: f32,
    /// AdamW's epsilon.
    pub eps: f32,
    /// Steps of linear warm-up.
    pub warmup: u64,
    /// How the learning rate changes.
    pub schedule: Schedule,
    /// Parameters with weight decay.
    pub wd_groups: DecayGroups,
    /// Maximum norm of the whole gradient; 0 for no clipping.
    pub grad_clip_norm: f64,
    /// Decay of the exponential moving average of the weights, in [0, 1); 0 for no average.
    pub ema: f64,
}

/// `[train]`: method, batches, length of the run, checkpoints and logging.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainConfigBlock {
    /// Method.
    pub method: MethodName,
    /// Samples per micro-batch.
    pub batch_size: usize,
    /// Micro-batches per step; all their samples are contrasted with each other as one batch.
    pub accum_freq: usize,
    /// Number format of the encoders' computation.
    pub precision: Precision,
    /// Whether activations are recomputed in the backward pass instead of stored.
    pub grad_checkpointing: bool,
    /// Number of threads that share a pass through the encoders; 0 for one per core on a CPU, one
    /// on a GPU.
    pub encoder_threads: usize,
    /// Number of images or texts that a contrastive term compares with all others at once. A larger
    /// batch is compared in blocks, with the same result up to rounding.
    pub contrast_rows: NonZeroUsize,
    /// Whether results are bit-identical on any number of cores; CPU only.
    pub deterministic: bool,
    /// Whether the image encoder is not trained; its projection is (LiT).
    pub lock_image: bool,
    /// Whether the projection of the image encoder is not trained.
    pub lock_projection: bool,
    /// Whether a locked image encoder computes the features of each photo and crop once, before the
    /// first step, instead of at every step.
    pub keep_features: bool,
    /// Folder of cached features; if unset, `espalier/features` in the user's cache folder.
    pub feature_cache: Option<PathBuf>,
    /// Whether the text encoder is not trained.
    pub lock_text: bool,
    /// Whether only the projection of the text encoder is trained; the layers before it then compute
    /// each text once.
    #[serde(default)]
    pub lock_text_layers: bool,
    /// Length of the run in steps; 0 if `epochs` is set.
    pub steps: u64,
    /// Length of the run in epochs; 0 if `steps` is set.
    pub epochs: u64,
    /// Samples that make one epoch of `epochs`; 0 for all records of the data.
    pub num_samples: u64,
    /// Random seed of the weights, the sample order and the augmentation.
    pub seed: u64,
    /// Steps between checkpoints; 0 for a tenth of the run, clamped to 20 to 500.
    pub save_frequency: u64,
    /// Number of checkpoints that are kept on disk.
    pub keep: usize,
    /// Steps after which the processes of a run compare their weights; 0 for only before a
    /// checkpoint is written.
    pub rank_check: u64,
    /// Seconds that the processes of a run wait for one that does not come.
    pub rank_timeout: u64,
    /// Formats in which metrics are written.
    pub report_to: Vec<ReportTo>,
    /// Steps between lines of `metrics.jsonl`.
    pub log_frequency: u64,
    /// Number of validation batches whose loss is measured at every checkpoint.
    pub val_batches: u64,
    /// Fraction of the patches that the image encoder processes in training, in `(0, 1]`.
    pub patch_keep: f64,
    /// Fraction of the run, from its start, that trains on images of half the side, in `[0, 1]`.
    /// Only for an image encoder made of convolutions, which learns much from such images.
    pub half_size: f64,
    /// Number of steps over which the weight of the entailment loss grows from 0 to its full value.
    /// With random weights, the fastest way to satisfy the cones is to collapse all images to one
    /// point and all texts to another; the contrast then needs hundreds of steps to undo this.
    pub entail_ramp: u64,
}

/// Complete configuration of a run; saved as `config.toml` in its folder.
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
    /// Training loop.
    pub train: TrainConfigBlock,
}

/// The defaults as TOML: every key of every block, with a comment.
pub const BASE: &str = include_str!("../configs/base.toml");

impl TrainConfig {
    /// Merges the defaults, the defaults of the method, a TOML file, flags and `key=value` pairs;
    /// later ones override earlier ones.
    ///
    /// # Errors
    /// Bad usage, naming the file or pair, for an unknown key (with the known ones listed) or a
    /// value of the wrong type or range.
    pub fn resolve(file: Option<&Path>, flags: Table, pairs: &[String]) -> anyhow::Result<Self> {
        Self::resolve_over(Table::new(), file, flags, pairs)
    }

    /// As [`resolve`](Self::resolve), with a layer between the defaults and the file: the
    /// configuration of a run that is resumed.
    ///
    /// # Errors
    /// As [`resolve`](Self::resolve).
    pub fn resolve_over(
        run: Table,
        file: Option<&Path>,
        flags: Table,
        pairs: &[String],
    ) -> anyhow::Result<Self> {
        let base: Table = BASE.parse().context("configs/base.toml")?;
        let file: Table = match file {
            Some(path) => layer_text(path)?
                .parse()
                .map_err(|e| usage(format!("--config {}: {e}", path.display())))?,
            None => Table::new(),
        };
        let mut layers = vec![run, file, flags];
        for pair in pairs {
            layers.push(layer_of(pair, &base)?);
        }
        layers.iter_mut().for_each(|layer| rename(layer, &base));
        let with_overrides = |mut table: Table| {
            for layer in &layers {
                merge(&mut table, layer.clone());
            }
            table
        };
        // The first merge determines the method; the second starts from that method's defaults.
        let mut table = with_overrides(base.clone());
        if let Some(method) = method_layer(&table) {
            let mut base = base;
            merge(&mut base, method.parse().context("defaults of the method")?);
            table = with_overrides(base);
        }
        let config: Self = read_table(table)?;
        config.check()?;
        Ok(config)
    }

    /// Returns the configuration with file names in place of full paths, for publication: it names
    /// no folder of this machine.
    pub fn without_folders(mut self) -> Self {
        let name = |path: &PathBuf| path.file_name().map_or_else(PathBuf::new, PathBuf::from);
        let (d, m) = (&mut self.dataset, &mut self.model);
        d.data = d.data.iter().map(name).collect();
        d.val_data = d.val_data.iter().map(name).collect();
        d.taxonomy = d.taxonomy.as_ref().map(name);
        d.nouns = d.nouns.as_ref().map(name);
        d.chains = d.chains.iter().map(name).collect();
        d.data_cache = None;
        m.init = m.init.as_ref().map(name);
        m.text_teacher = m.text_teacher.as_ref().map(name);
        self.train.feature_cache = None;
        self
    }

    /// Returns the number of samples per step; the largest number if it is too large, which the rules of
    /// the two factors refuse.
    pub fn samples_of_step(&self) -> usize {
        self.train.batch_size.saturating_mul(self.train.accum_freq)
    }

    /// Returns the bytes of one checkpoint: weights and two moments, in `f32`.
    pub fn checkpoint_bytes(&self) -> u64 {
        3 * 4 * self.model.architecture().parameters()
    }

    /// Returns the configuration as TOML.
    ///
    /// # Errors
    /// If it cannot be written as TOML; a checked configuration always can.
    pub fn to_toml(&self) -> anyhow::Result<String> {
        toml::to_string(self).context("writing the configuration")
    }
}

#[cfg(test)]
impl TrainConfig {
    /// Returns the defaults with these `key=value` pairs.
    pub(crate) fn of_pairs(pairs: &[&str]) -> anyhow::Result<Self> {
        let pairs: Vec<String> = pairs.iter().map(|pair| (*pair).to_owned()).collect();
        Self::resolve(None, Table::new(), &pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[&str]) -> TrainConfig {
        TrainConfig::of_pairs(pairs).unwrap()
    }

    fn refused(pair: &str) -> anyhow::Error {
        TrainConfig::of_pairs(&[pair]).unwrap_err()
    }

    #[test]
    fn the_shipped_defaults_are_a_complete_configuration() {
        let config = of(&[]);
        let again = config.to_toml().unwrap().parse::<Table>().unwrap();
        assert_eq!(TrainConfig::resolve(None, again, &[]).unwrap(), config);
    }

    #[test]
    fn sizes_whose_products_would_overflow_are_refused() {
        let message = refused("train.batch_size=4611686018427387904").to_string();
        assert!(message.contains("between 2 and 1048576"), "{message}");
        let message = refused("train.accum_freq=4611686018427387904").to_string();
        assert!(message.contains("between 1 and 1048576"), "{message}");
        let mut both = of(&[]);
        (both.train.batch_size, both.train.accum_freq) = (1 << 62, 8);
        assert_eq!(both.samples_of_step(), usize::MAX);
        let mut model = Preset::VitT8_64.config();
        model.vision.patch = 0;
        let model = toml::Value::Table(Table::try_from(model).unwrap());
        let message = refused(&format!("model.architecture={model}")).to_string();
        assert!(message.contains("vision.patch"), "{message}");
    }

    #[test]
    fn a_published_configuration_names_no_folder() {
        let config = of(&["dataset.data=[\"/secret/folder/a.parquet\"]"]).without_folders();
        assert_eq!(config.dataset.data, [PathBuf::from("a.parquet")]);
        assert!(!config.to_toml().unwrap().contains("secret"));
    }

    #[test]
    fn defaults_of_the_method_override_general_defaults_and_pairs_override_both() {
        assert_eq!(of(&["train.method=re"]).optim.lr, 5e-5);
        assert_eq!(of(&["train.method=re", "optim.lr=1e-6"]).optim.lr, 1e-6);
        assert_eq!(of(&["train.method=clip"]).optim.lr, 1e-3);
    }

    #[test]
    fn a_paper_without_a_recipe_is_refused_with_those_that_have_one() {
        let error = TrainConfig::resolve(Some(Path::new("paper:clop")), Table::new(), &[]);
        assert!(error.unwrap_err().to_string().contains("one of clip, meru"));
    }

    #[test]
    fn later_layers_win_and_unknown_keys_are_named() {
        let config = of(&["optim.lr=1e-3", "train.method=clip"]);
        assert_eq!(config.optim.lr, 1e-3);
        assert_eq!(config.train.method, MethodName::Clip);
        let config = of(&["dataset.data=[\"a\", \"b\"]", "dataset.weights=1,0.5"]);
        assert_eq!(config.dataset.weights, [1.0, 0.5]);

        for (pair, told) in [
            ("dataset.weights=1,0.5", "one number above 0"),
            ("loss.outliers=1", "0 if loss.labels is 0"),
            ("optim.speed=9", "unknown field `speed`"),
            ("lr=9", "block.key=value"),
        ] {
            let error = refused(pair);
            assert!(error.to_string().contains(told), "{error}");
            assert_eq!(crate::exit_code::code(&error), 2);
        }
    }
}
