//! Options of tasks on the command line.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::metrics::pairs::Sign;
use super::metrics::steps::Radii;
use super::prompts;
use crate::config::RankText;
use crate::data::records::corruption::Corruption;

/// How pictures become squares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Resize {
    /// As published for the task, for models of the MERU family; else the model's own way.
    Auto,
    /// The model's own way.
    Model,
    /// Shortest side, then the centre.
    Crop,
    /// Both sides, shape lost.
    Squeeze,
    /// Longest side, centred on white.
    Pad,
}

/// Which classes there are to choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Choice {
    /// Those that some picture has.
    Present,
    /// All labels of the taxonomy.
    All,
}

/// What tasks can be told; each reads what concerns it.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Taxonomy: a TSV, edges `parent child` a line, or a shipped one by name: wordnet (210 labels,
    /// the default) or imagenet (ImageNet's 1,000).
    #[arg(long, value_name = "FILE|NAME")]
    pub taxonomy: Option<PathBuf>,
    /// Names of classes: a line `label<TAB>name` a class, or names alone in the order of the sorted
    /// labels.
    #[arg(long, value_name = "FILE")]
    pub class_names: Option<PathBuf>,
    /// Classes to choose from.
    #[arg(long, value_enum, default_value = "present")]
    pub classes: Choice,
    /// zero-shot, hierarchy: checkpoint whose classifier is scored beside the texts, on the same
    /// features; often that of --checkpoint.
    #[arg(long, value_name = "CKPT", conflicts_with = "image_embeddings")]
    pub classifier: Option<PathBuf>,
    /// Share of the labels that are taken away before pictures of them are judged.
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    pub hold_out: f64,
    /// Name of the benchmark, such as food101: picks its prompts and its published values.
    #[arg(long, value_name = "NAME")]
    pub dataset_name: Option<String>,
    /// Prompt set; auto is the benchmark's own, or simple-1.
    #[arg(long, default_value = prompts::AUTO, value_name = "NAME")]
    pub prompts: String,
    /// Ranks at which recall is measured.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "1,5,10",
        value_name = "K,.."
    )]
    pub k: Vec<usize>,
    /// Folder of the pictures that an index file names.
    #[arg(long, value_name = "DIR")]
    pub images: Option<PathBuf>,
    /// Split: of a Karpathy file, or of a benchmark that is published with lists of its splits.
    #[arg(long, default_value = "test", value_name = "NAME")]
    pub split: String,
    /// How pictures become squares.
    #[arg(long, value_enum, default_value = "auto")]
    pub resize: Resize,
    /// What is done to pictures before the model sees them, to measure what it bears.
    #[arg(long, value_enum, conflicts_with = "image_embeddings")]
    pub change: Option<Corruption>,
    /// Embeddings of pictures in place of a model's, as `trainer embed` writes them.
    #[arg(long, value_name = "FILE", requires = "text_embeddings")]
    pub image_embeddings: Option<PathBuf>,
    /// Embeddings of texts in place of a model's.
    #[arg(long, value_name = "FILE", requires = "image_embeddings")]
    pub text_embeddings: Option<PathBuf>,
    /// Radii of the walk from the root; per-image for hyperbolic models and global for others
    /// where not given.
    #[arg(long, value_enum)]
    pub radii: Option<Radii>,
    /// Leave out the first radius of the walk.
    #[arg(long)]
    pub drop_first: bool,
    /// Radii of the walk.
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub walk_steps: usize,
    /// Texts of a chain made from the taxonomy; 0 for as many as all its labels have, within 3 to 7.
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub tiers: usize,
    /// How the text of a rank is made of names.
    #[arg(long, value_enum, default_value = "joined")]
    pub rank_text: RankText,
    /// Sign of the angle in the score of a pair of labels.
    #[arg(long, value_enum, default_value = "plus")]
    pub sign: Sign,
    /// Labelled pictures or scenes to take neighbours from.
    #[arg(long, num_args = 1.., value_name = "PATH")]
    pub gallery: Vec<PathBuf>,
    /// Sizes of the retrieved set in hierarchical retrieval.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "150000,200000,250000",
        value_name = "K,.."
    )]
    pub top: Vec<usize>,
    /// Most scenes that are queried in part-based retrieval, the first ones; 0 for all.
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub most: usize,
    /// Normalise pictures twice in vl-checklist, as the published numbers of PHyCLIP have it.
    #[arg(long)]
    pub double_norm: bool,
    /// Pictures of a batch.
    #[arg(long, default_value_t = 64, value_name = "N")]
    pub batch_size: usize,
    /// Share of broken records at which the evaluation stops.
    #[arg(long, default_value_t = 0.01, value_name = "SHARE")]
    pub max_broken: f64,
    /// Seed of what is drawn: the picture of a species in rank-ordering.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
}
