//! Command line of `trainer plot`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use espalier_data::RankText;
use espalier_figures::figure::Theme;
use espalier_figures::plot::disk::{By, Centre};

use super::common::Common;
use crate::config::DatasetKind;

/// A kind of figure.
#[derive(Clone, Debug, Subcommand)]
pub enum PlotCommand {
    /// Distances of images, texts and boxes from the root.
    Norms(NormsArgs),
    /// Texts and images along the path from a photo to the root or to another photo.
    Traversal(TraversalArgs),
    /// A taxonomy in the Poincaré disk.
    Disk(DiskArgs),
    /// A path of a taxonomy and the siblings of its nodes, by UMAP.
    Umap(UmapArgs),
    /// Factors that two texts and their composition use, for product models.
    Factors(FactorsArgs),
    /// Precision and recall of retrieving boxes with their whole image.
    Pr(PrArgs),
    /// The ladder of a photo: its captions from general to specific.
    Ladder(LadderArgs),
    /// Losses, rates, norms and speed of training runs.
    Run(RunArgs),
}

impl PlotCommand {
    /// Returns the arguments of commands that run a model; those of runs draw numbers that are there.
    pub fn common(&self) -> Option<&Common> {
        let figure = match self {
            Self::Norms(args) => &args.of.figure,
            Self::Traversal(args) => &args.of.figure,
            Self::Disk(args) => &args.of.figure,
            Self::Umap(args) => &args.of.figure,
            Self::Factors(args) => &args.of.figure,
            Self::Pr(args) => &args.figure,
            Self::Ladder(args) => &args.of.figure,
            Self::Run(_) => return None,
        };
        Some(&figure.common)
    }

    /// Returns the name of the model that the figure is of, if it is of one.
    pub fn model(&mut self) -> Option<&mut PathBuf> {
        let of = match self {
            Self::Norms(args) => &mut args.of,
            Self::Traversal(args) => &mut args.of,
            Self::Disk(args) => &mut args.of,
            Self::Umap(args) => &mut args.of,
            Self::Factors(args) => &mut args.of,
            Self::Ladder(args) => &mut args.of,
            Self::Pr(_) | Self::Run(_) => return None,
        };
        Some(&mut of.model)
    }
}

/// The file of a figure.
#[derive(Args, Clone, Debug)]
pub struct FileArgs {
    /// Output file; an existing file is replaced.
    #[arg(long, value_name = "FILE.svg|FILE.png")]
    pub out: PathBuf,
    /// Colour theme.
    #[arg(long, value_enum, default_value = "light")]
    pub theme: Theme,
    /// Pixels of a PNG per unit of the SVG; 3 gives a column-wide figure 300 dots per inch.
    #[arg(long, default_value_t = 3.0, value_name = "N")]
    pub scale: f64,
}

/// Arguments of figures for which a model is run.
#[derive(Args, Clone, Debug)]
pub struct FigureArgs {
    /// The file.
    #[command(flatten)]
    pub file: FileArgs,
    /// Random seed.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Shared arguments.
    #[command(flatten)]
    pub common: Common,
}

/// A figure of one model.
#[derive(Args, Clone, Debug)]
pub struct ModelFigure {
    /// Run folder, checkpoint, bundle, hf-hub:org/name or a name of `trainer models`.
    #[arg(long, visible_alias = "checkpoint", value_name = "MODEL")]
    pub model: PathBuf,
    /// The figure.
    #[command(flatten)]
    pub figure: FigureArgs,
}

/// Data of a figure.
#[derive(Args, Clone, Debug)]
pub struct DataArgs {
    /// Kind of dataset.
    #[arg(long, value_enum, default_value = "grit")]
    pub dataset: DatasetKind,
    /// Files, folders and globs.
    #[arg(long, num_args = 1.., value_name = "PATH")]
    pub data: Vec<PathBuf>,
    /// Maximum number of images to read.
    #[arg(long, value_name = "N")]
    pub samples: Option<usize>,
    /// Fraction of broken records above which the command stops. Of fewer than 1,000 records, half may be
    /// broken, unless the fraction is 0.
    #[arg(long, default_value_t = 0.01, value_name = "SHARE")]
    pub max_broken: f64,
}

/// Distances of images, texts and boxes from the root: a histogram with smooth curves.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: trainer plot norms --model bundle/ --data val.parquet \
    --out norms.svg"
)]
pub struct NormsArgs {
    /// Images; 2000 by default.
    #[command(flatten)]
    pub data: DataArgs,
    /// The model and the figure.
    #[command(flatten)]
    pub of: ModelFigure,
}

/// Follow the path from a photo to the root or to another photo. At each step the nearest text, or
/// with --with-images also the nearest image, is found; the figure shows them in order.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: trainer plot traversal --model bundle/ --image cat.jpg \
    --out walk.png"
)]
pub struct TraversalArgs {
    /// Photo where the path starts.
    #[arg(long, value_name = "PHOTO")]
    pub image: PathBuf,
    /// Photo where the path ends; default: the root.
    #[arg(long, value_name = "PHOTO")]
    pub to: Option<PathBuf>,
    /// Number of points on the path.
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub steps: usize,
    /// File of candidate texts, one per line; default: the texts of the data or of the bundle.
    #[arg(long, value_name = "FILE")]
    pub texts: Option<PathBuf>,
    /// Also use the images and boxes of the data as candidates.
    #[arg(long = "with-images", alias = "pictures")]
    pub images: bool,
    /// Only accept candidates that entail the point on the path, as MERU does.
    #[arg(long)]
    pub entailment: bool,
    /// Images whose captions, phrases and boxes are candidates; 500 by default.
    #[command(flatten)]
    pub data: DataArgs,
    /// The model and the figure.
    #[command(flatten)]
    pub of: ModelFigure,
}

/// A taxonomy and photos in the Poincaré disk.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: trainer plot disk --model bundle/ --by horopca \
    --out disk.svg"
)]
pub struct DiskArgs {
    /// How points are projected to the disk.
    #[arg(long, value_enum, default_value = "horopca")]
    pub by: By,
    /// Point at the centre of the disk.
    #[arg(long, value_enum, default_value = "root")]
    pub centre: Centre,
    /// Taxonomy; default: that of the bundle or of the run.
    #[arg(long, value_name = "FILE")]
    pub taxonomy: Option<PathBuf>,
    /// Maximum number of nodes to draw, broadest first.
    #[arg(long, default_value_t = 200, value_name = "N")]
    pub nodes: usize,
    /// Factor of a product model, counted from 1; default: the one that is used most.
    #[arg(long, value_name = "N")]
    pub factor: Option<usize>,
    /// Prompt set for the texts of the nodes.
    #[arg(long, default_value = "simple-1", value_name = "NAME")]
    pub prompts: String,
    /// Photos to draw as well; 200 by default.
    #[command(flatten)]
    pub data: DataArgs,
    /// The model and the figure.
    #[command(flatten)]
    pub of: ModelFigure,
}

/// A path of a taxonomy and the siblings of its nodes, by UMAP of their texts.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: trainer plot umap --model bundle/ --label goldfish \
    --out lineage.svg"
)]
pub struct UmapArgs {
    /// Last node of the path, by id or name.
    #[arg(long, value_name = "NODE")]
    pub label: String,
    /// Taxonomy; default: that of the bundle or of the run.
    #[arg(long, value_name = "FILE")]
    pub taxonomy: Option<PathBuf>,
    /// How the text of a node is built from names.
    #[arg(long, value_enum, default_value = "name")]
    pub rank_text: RankText,
    /// The model and the figure.
    #[command(flatten)]
    pub of: ModelFigure,
}

/// Factors of a product model that two texts and their composition use.
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

/// Precision and recall of retrieving boxes with the image that they are parts of.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: trainer plot pr --model logs/parts logs/clip --data val.parquet \
    --out pr.svg\n         trainer plot pr --eval parts.json clip.json --out pr.svg"
)]
pub struct PrArgs {
    /// Run folders, checkpoints or bundles; one curve each.
    #[arg(long, num_args = 1.., required_unless_present = "eval", value_name = "C_OR_BUNDLE")]
    pub model: Vec<PathBuf>,
    /// Results of `trainer eval --task parts --json`, instead of models; one curve per object.
    #[arg(long, num_args = 1.., conflicts_with_all = ["model", "data"], value_name = "FILE")]
    pub eval: Vec<PathBuf>,
    /// Images with boxes; 500 by default.
    #[command(flatten)]
    pub data: DataArgs,
    /// The figure.
    #[command(flatten)]
    pub figure: FigureArgs,
}

/// A photo, its captions from general to specific by their radius, and its path in the taxonomy.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: trainer plot ladder --model bundle/ photo.jpg \
    --out ladder.svg")]
pub struct LadderArgs {
    /// Photo to draw.
    #[arg(value_name = "PHOTO")]
    pub photo: PathBuf,
    /// File of captions, when the model is a checkpoint; see `trainer export`.
    #[arg(long, value_name = "FILE")]
    pub captions: Option<PathBuf>,
    /// Taxonomy, when the model is a checkpoint.
    #[arg(long, value_name = "FILE")]
    pub taxonomy: Option<PathBuf>,
    /// The model and the figure.
    #[command(flatten)]
    pub of: ModelFigure,
}

/// Plots the metrics of training runs over their steps, with a panel for each metric and a colour for
/// each run.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: trainer plot run --run logs/first logs/second --out runs.svg")]
pub struct RunArgs {
    /// Folders of runs, or their files of metrics.
    #[arg(long, num_args = 1.., required = true, value_name = "RUN")]
    pub run: Vec<PathBuf>,
    /// The file.
    #[command(flatten)]
    pub file: FileArgs,
    /// Print the result as JSON on standard output.
    #[arg(long)]
    pub json: bool,
}
