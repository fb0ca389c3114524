//! Options of tasks on the command line.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use espalier_data::RankText;
use espalier_data::records::corruption::Corruption;

use super::hierarchy::TiePath;
use super::metrics::pairs::Sign;
use super::metrics::steps::Radii;
use super::prompts;

/// How images are resized to a square.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Resize {
    /// As published for the task for models of the MERU family; otherwise as `model`.
    Auto,
    /// The resize mode of the model.
    Model,
    /// Resize the shortest side, then crop the centre.
    Crop,
    /// Resize both sides without keeping the aspect ratio.
    Squeeze,
    /// Resize the longest side and centre the image on white.
    Pad,
}

/// The classes to choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Choice {
    /// The labels of the images.
    Present,
    /// All labels of the taxonomy.
    All,
}

/// Headings of the help, by the tasks that read the options below them.
const LABELS: &str = "Tasks on images with labels (zero-shot, hierarchy, stop, teach, …)";
const CAPTIONS: &str = "Tasks on images with captions (retrieval, captions, …)";
const WALK: &str = "Walks from the root (hierarcaps)";
const ORDER: &str = "Orders and ranks (ordering, rank-ordering, rank-zero-shot, hyperlex)";
const OTHER: &str = "Boxes and pairs (detection, parts, heat-map, two-subjects, vl-checklist)";

/// Heading of the options that all tasks read.
pub const READING: &str = "Reading and embedding, for all tasks";

/// Options of the tasks; each task reads those that concern it.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Taxonomy: a TSV file, a file with one edge `parent child` per line, or the name of a shipped
    /// one: wordnet (210 labels, the default) or imagenet (the 1,000 labels of ImageNet).
    #[arg(help_heading = LABELS, long, value_name = "FILE|NAME")]
    pub taxonomy: Option<PathBuf>,
    /// Names of the classes: one line `label<TAB>name` per class, or only the names, in the order
    /// of the sorted labels.
    #[arg(help_heading = LABELS, long, value_name = "FILE")]
    pub class_names: Option<PathBuf>,
    /// Classes to choose from.
    #[arg(help_heading = LABELS, long, value_enum, default_value = "present")]
    pub classes: Choice,
    /// hierarchy: path whose edges `tie` counts, where nodes have several parents.
    #[arg(help_heading = LABELS, long, value_enum, default_value = "shortest", value_name = "PATH")]
    pub tie: TiePath,
    /// zero-shot, hierarchy: also evaluate the classifier of this checkpoint, on the same features;
    /// usually the same path as --checkpoint.
    #[arg(help_heading = LABELS, long, value_name = "CKPT", conflicts_with = "image_embeddings")]
    pub classifier: Option<PathBuf>,
    /// stop: fraction of the labels to hold out; their images test how the model treats unknown
    /// labels.
    #[arg(help_heading = LABELS, long, default_value_t = 0.0, value_name = "SHARE")]
    pub hold_out: f64,
    /// Name of the benchmark, such as food101; selects its prompts and its published values.
    #[arg(help_heading = LABELS, long, value_name = "NAME")]
    pub dataset_name: Option<String>,
    /// Prompt set; auto selects that of the benchmark, or simple-1 if it has none.
    #[arg(help_heading = LABELS, long, default_value = prompts::AUTO, value_name = "NAME")]
    pub prompts: String,
    /// Values of K for recall@K.
    #[arg(
        help_heading = CAPTIONS,
        long,
        value_delimiter = ',',
        default_value = "1,5,10",
        value_name = "K,.."
    )]
    pub k: Vec<usize>,
    /// Folder of the images that an index file lists.
    #[arg(help_heading = CAPTIONS, long, value_name = "DIR")]
    pub images: Option<PathBuf>,
    /// Split of a Karpathy file, or of a benchmark that is published with lists of its splits.
    #[arg(help_heading = CAPTIONS, long, default_value = "test", value_name = "NAME")]
    pub split: String,
    /// How images are resized to a square.
    #[arg(help_heading = READING, long, value_enum, default_value = "auto")]
    pub resize: Resize,
    /// Corruption applied to every image first, to measure the robustness of the model.
    #[arg(help_heading = READING, long, value_enum, conflicts_with = "image_embeddings")]
    pub change: Option<Corruption>,
    /// Precomputed embeddings of images, as `trainer embed` writes them; replaces the model.
    #[arg(help_heading = READING, long, value_name = "FILE", requires = "text_embeddings")]
    pub image_embeddings: Option<PathBuf>,
    /// Precomputed embeddings of texts, as `trainer embed` writes them.
    #[arg(help_heading = READING, long, value_name = "FILE", requires = "image_embeddings")]
    pub text_embeddings: Option<PathBuf>,
    /// Choice of the radii of the walk from the root; default: per-image for hyperbolic models,
    /// global for others.
    #[arg(help_heading = WALK, long, value_enum)]
    pub radii: Option<Radii>,
    /// Skip the first radius of the walk.
    #[arg(help_heading = WALK, long)]
    pub drop_first: bool,
    /// Number of radii of the walk.
    #[arg(help_heading = WALK, long, default_value_t = 50, value_name = "N")]
    pub walk_steps: usize,
    /// ordering: number of texts per chain from the taxonomy, evenly spaced along the path of a
    /// label; 0 for all nodes of the path.
    #[arg(help_heading = ORDER, long, default_value_t = 0, value_name = "N")]
    pub tiers: usize,
    /// How the text of a rank is built from names.
    #[arg(help_heading = ORDER, long, value_enum, default_value = "joined")]
    pub rank_text: RankText,
    /// Sign of the angle in the score of a pair of labels.
    #[arg(help_heading = ORDER, long, value_enum, default_value = "plus")]
    pub sign: Sign,
    /// detection: labelled images whose boxes are the neighbours.
    #[arg(help_heading = OTHER, long, num_args = 1.., value_name = "PATH")]
    pub gallery: Vec<PathBuf>,
    /// parts: sizes of the retrieved set in hierarchical retrieval. By default those of the papers,
    /// 150000,200000,250000 (OpenImages) or 10000,20000,30000 (LVIS), or a quarter, a third and a half
    /// of the boxes where the data has fewer.
    #[arg(help_heading = OTHER, long, value_delimiter = ',', value_name = "K,..")]
    pub top: Vec<usize>,
    /// parts: maximum number of queries; heat-map, two-subjects: maximum number of images; 0 for
    /// all.
    #[arg(help_heading = OTHER, long, default_value_t = 0, value_name = "N")]
    pub most: usize,
    /// vl-checklist: normalise images twice, as for the published numbers of PHyCLIP.
    #[arg(help_heading = OTHER, long)]
    pub double_norm: bool,
    /// Number of images in a batch.
    #[arg(help_heading = READING, long, default_value_t = 64, value_name = "N")]
    pub batch_size: usize,
    /// Fraction of broken records above which the evaluation stops. Among fewer than 1,000 records a half is allowed, unless the
    /// fraction is 0.
    #[arg(help_heading = READING, long, default_value_t = 0.01, value_name = "SHARE")]
    pub max_broken: f64,
    /// rank-ordering: random seed for choosing one image per species.
    #[arg(help_heading = ORDER, long, default_value_t = 0)]
    pub seed: u64,
}
