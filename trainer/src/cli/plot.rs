//! The grammar of `trainer plot`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::common::Common;
use crate::config::DatasetKind;
use crate::config::RankText;
use crate::figure::Theme;
use crate::plot::disk::{By, Centre};

/// A kind of figure.
#[derive(Debug, Subcommand)]
pub enum PlotCommand {
    /// How far from the root pictures, texts and boxes lie.
    Norms(NormsArgs),
    /// What a walk from a photo to the root, or to another photo, passes.
    Traversal(TraversalArgs),
    /// A taxonomy in the Poincaré disk.
    Disk(DiskArgs),
    /// A lineage of a taxonomy among its siblings, by UMAP.
    Umap(UmapArgs),
    /// Factors of two texts and their composition, for product models.
    Factors(FactorsArgs),
    /// Precision and recall of finding parts by their whole.
    Pr(PrArgs),
    /// The ladder of a photo.
    Ladder(LadderArgs),
}

/// What every figure takes.
#[derive(Args, Clone, Debug)]
pub struct FigureArgs {
    /// Where to write it; a file that is there is replaced.
    #[arg(long, value_name = "FILE.svg|FILE.png")]
    pub out: PathBuf,
    /// Colours.
    #[arg(long, value_enum, default_value = "light")]
    pub theme: Theme,
    /// Pixels of a PNG for each unit of the SVG; 3 prints a column with 300 dots an inch.
    #[arg(long, default_value_t = 3.0, value_name = "N")]
    pub scale: f64,
    /// Seed of all that is random.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Shared arguments.
    #[command(flatten)]
    pub common: Common,
}

/// A figure of one model.
#[derive(Args, Clone, Debug)]
pub struct ModelFigure {
    /// Run, checkpoint or bundle.
    #[arg(long, value_name = "C_OR_BUNDLE")]
    pub model: PathBuf,
    /// The figure.
    #[command(flatten)]
    pub figure: FigureArgs,
}

/// Pictures that a figure is made of.
#[derive(Args, Clone, Debug)]
pub struct DataArgs {
    /// Kind of dataset.
    #[arg(long, value_enum, default_value = "grit")]
    pub dataset: DatasetKind,
    /// Files, folders and globs.
    #[arg(long, num_args = 1.., value_name = "PATH")]
    pub data: Vec<PathBuf>,
    /// Most pictures to read.
    #[arg(long, value_name = "N")]
    pub samples: Option<usize>,
    /// Share of broken records at which to stop.
    #[arg(long, default_value_t = 0.01, value_name = "SHARE")]
    pub max_broken: f64,
}

/// How far from the root pictures, texts and boxes lie: a histogram with smooth curves.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: trainer plot norms --model static/models/default --data val.parquet \
    --out norms.svg"
)]
pub struct NormsArgs {
    /// Pictures; 2000 where no number is given.
    #[command(flatten)]
    pub data: DataArgs,
    /// The model and the figure.
    #[command(flatten)]
    pub of: ModelFigure,
}

/// What a walk passes: the texts, and pictures if wanted, that are nearest at each step, in order.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: trainer plot traversal --model static/models/default --image cat.jpg \
    --out walk.png"
)]
pub struct TraversalArgs {
    /// Photo where the walk begins.
    #[arg(long, value_name = "PHOTO")]
    pub image: PathBuf,
    /// Photo where it ends; the root where not given.
    #[arg(long, value_name = "PHOTO")]
    pub to: Option<PathBuf>,
    /// Points of the walk.
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub steps: usize,
    /// Texts to find, one a line; those of the data or of the bundle where not given.
    #[arg(long, value_name = "FILE")]
    pub texts: Option<PathBuf>,
    /// Find the pictures and boxes of the data too.
    #[arg(long)]
    pub pictures: bool,
    /// Find only what entails the point of the walk, as MERU does.
    #[arg(long)]
    pub entailment: bool,
    /// Pictures whose captions, phrases and boxes can be found; 500 where no number is given.
    #[command(flatten)]
    pub data: DataArgs,
    /// The model and the figure.
    #[command(flatten)]
    pub of: ModelFigure,
}

/// A taxonomy, and photos, in the Poincaré disk.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: trainer plot disk --model static/models/default --by horopca \
    --out disk.svg"
)]
pub struct DiskArgs {
    /// How points come into the disk.
    #[arg(long, value_enum, default_value = "horopca")]
    pub by: By,
    /// What lies in the middle.
    #[arg(long, value_enum, default_value = "root")]
    pub centre: Centre,
    /// Taxonomy; that of the bundle or of the run where not given.
    #[arg(long, value_name = "FILE")]
    pub taxonomy: Option<PathBuf>,
    /// Most nodes to draw, the broadest first.
    #[arg(long, default_value_t = 200, value_name = "N")]
    pub nodes: usize,
    /// Factor of a product model, counted from 1; the one that is used most where not given.
    #[arg(long, value_name = "N")]
    pub factor: Option<usize>,
    /// Prompt set.
    #[arg(long, default_value = "simple-1", value_name = "NAME")]
    pub prompts: String,
    /// Photos to draw too; 200 where no number is given.
    #[command(flatten)]
    pub data: DataArgs,
    /// The model and the figure.
    #[command(flatten)]
    pub of: ModelFigure,
}

/// A lineage of a taxonomy among the siblings of its nodes, by UMAP of their texts.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: trainer plot umap --model static/models/default --label goldfish \
    --out lineage.svg"
)]
pub struct UmapArgs {
    /// Last node of the lineage, by id or name.
    #[arg(long, value_name = "NODE")]
    pub label: String,
    /// Taxonomy; that of the bundle or of the run where not given.
    #[arg(long, value_name = "FILE")]
    pub taxonomy: Option<PathBuf>,
    /// How the text of a node is made of names.
    #[arg(long, value_enum, default_value = "name")]
    pub rank_text: RankText,
    /// The model and the figure.
    #[command(flatten)]
    pub of: ModelFigure,
}

/// Which factors of a product model two texts use, and their composition.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: trainer plot factors --model logs/phyclip --out factors.svg \
    \"a photo of a dog\" \"a photo of a car\" \"a photo of a dog and a car\""
)]
pub struct FactorsArgs {
    /// First concept, second concept, composition.
    #[arg(
        num_args = 3,
        value_name = "TEXT",
        default_values = ["a photo of a dog", "a photo of a car", "a photo of a dog and a car"]
    )]
    pub texts: Vec<String>,
    /// The model and the figure.
    #[command(flatten)]
    pub of: ModelFigure,
}

/// Precision and recall of finding boxes by the picture that they are parts of.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: trainer plot pr --model logs/parts logs/clip --data val.parquet \
    --out pr.svg\n         trainer plot pr --eval parts.json clip.json --out pr.svg"
)]
pub struct PrArgs {
    /// Runs, checkpoints or bundles; one curve each.
    #[arg(long, num_args = 1.., required_unless_present = "eval", value_name = "C_OR_BUNDLE")]
    pub model: Vec<PathBuf>,
    /// Results of `trainer eval --task parts --json`, in place of models; one curve an object.
    #[arg(long, num_args = 1.., conflicts_with_all = ["model", "data"], value_name = "FILE")]
    pub eval: Vec<PathBuf>,
    /// Pictures with boxes; 500 where no number is given.
    #[command(flatten)]
    pub data: DataArgs,
    /// The figure.
    #[command(flatten)]
    pub figure: FigureArgs,
}

/// A photo, its captions from general to specific by their radius, and its path in the taxonomy.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: trainer plot ladder --model static/models/default photo.jpg \
    --out ladder.svg"
)]
pub struct LadderArgs {
    /// Photo.
    #[arg(value_name = "PHOTO")]
    pub photo: PathBuf,
    /// Captions for a checkpoint, see `trainer export`.
    #[arg(long, value_name = "FILE")]
    pub captions: Option<PathBuf>,
    /// Taxonomy for a checkpoint.
    #[arg(long, value_name = "FILE")]
    pub taxonomy: Option<PathBuf>,
    /// The model and the figure.
    #[command(flatten)]
    pub of: ModelFigure,
}
