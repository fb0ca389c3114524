//! Command line of `trainer export`.

use std::path::PathBuf;

use clap::Args;
use espalier_checkpoints::published::ExportFormat;

use super::common::Common;
use crate::export::{ExportArithmetic, ExportDtype};

/// Write a bundle for the page, or a checkpoint for other programs.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: trainer export --checkpoint logs/first --out bundle/ --dtype q8\n\
                  Example: trainer export --checkpoint logs/first --site site/\n\
                  Example: trainer export --checkpoint bundle/ --statements captions.json --out told/\n\
                  Example: trainer export --checkpoint clip-b32 --format hf --out clip-b32-hf/"
)]
pub struct ExportArgs {
    /// Run folder, checkpoint, hf-hub:org/name or a name of `trainer models`; with --site, --statements or
    /// --arithmetic also a bundle, whose files are used unchanged.
    #[arg(long, visible_alias = "model", value_name = "MODEL")]
    pub checkpoint: PathBuf,
    /// Average the weights of the run's N newest checkpoints, instead of taking the newest.
    #[arg(long, value_name = "N")]
    pub average: Option<usize>,
    /// Output folder; must not contain an earlier export unless --force is given. Not needed with
    /// --site.
    #[arg(long, value_name = "DIR", required_unless_present = "site")]
    pub out: Option<PathBuf>,
    /// Folder for a complete site, for any static file host: the page, its widget, the bundle and
    /// an example project page.
    #[arg(long, value_name = "DIR")]
    pub site: Option<PathBuf>,
    /// Folder of the built page for --site; default: the first folder `page` or `dist` with a built
    /// page in or above the folder of this program or the current folder.
    #[arg(long, value_name = "DIST", requires = "site")]
    pub page: Option<PathBuf>,
    /// Address where the site will be published, used in the embedding code.
    #[arg(
        long,
        value_name = "URL",
        requires = "site",
        default_value = "https://example.org/espalier"
    )]
    pub url: String,
    /// Output format; all except `bundle` are for other programs and store 32-bit floats.
    #[arg(long, value_enum, default_value = "bundle")]
    pub format: ExportFormat,
    /// Number format of the tensors in a bundle.
    #[arg(long, value_enum, default_value = "q8")]
    pub dtype: ExportDtype,
    /// Numbers that the image encoder of a bundle multiplies on a CPU. With `auto` integers, which are
    /// faster, if the probe's answers stay the same. Default: auto; for a bundle, its own.
    #[arg(long, value_enum, value_name = "NUMBERS")]
    pub arithmetic: Option<ExportArithmetic>,
    /// Captions: one per line, or JSON lines with text, node and detail. Default: generated from
    /// the taxonomy.
    #[arg(long, value_name = "FILE")]
    pub captions: Option<PathBuf>,
    /// Skip captions with positions, such as "on the left", for encoders whose features carry no
    /// position.
    #[arg(long, conflicts_with = "captions")]
    pub no_places: bool,
    /// Table of nouns (WordNet's, or one in the same format), used to look up typed words that name
    /// no node.
    #[arg(long, value_name = "FILE")]
    pub nouns: Option<PathBuf>,
    /// Taxonomy file, or the name of a shipped one: wordnet or imagenet. Default: the taxonomy of
    /// the run.
    #[arg(long, value_name = "FILE|NAME")]
    pub taxonomy: Option<PathBuf>,
    /// Labelled images for the quality gate and the calibration. Default: the run's validation
    /// data, or its training data if there is none.
    #[arg(long, num_args = 1.., value_name = "PATH")]
    pub probe: Vec<PathBuf>,
    /// Maximum number of probe images.
    #[arg(long, default_value_t = 2000, value_name = "N")]
    pub probe_size: usize,
    /// Largest accepted loss of top-1 accuracy by quantisation, in percentage points.
    #[arg(long, default_value_t = 0.5, value_name = "POINTS")]
    pub max_drop: f64,
    /// Name of the model in the manifest; default: the name of the run.
    #[arg(long)]
    pub name: Option<String>,
    /// Images with captions, as --dataset captions reads them. Gives the bundle detectors of what photos
    /// show: people, doings, places and things.
    #[arg(long, num_args = 1.., value_name = "PATH")]
    pub statements: Vec<PathBuf>,
    /// Lists of images of which all that they show is described: Karpathy's JSON with `vocabulary`, and
    /// `shows` for each image; `FILE?images=DIR` if the images lie elsewhere. Calibrates the detectors on
    /// photos like these.
    #[arg(long, num_args = 1.., value_name = "FILE", requires = "statements")]
    pub shows: Vec<PathBuf>,
    /// Vocabulary of the statements (docs/statements.md); default: the shipped one.
    #[arg(long, value_name = "FILE", requires = "statements")]
    pub vocabulary: Option<PathBuf>,
    /// Version of the model in the manifest; default: 0.1.0, or that of the bundle.
    #[arg(long)]
    pub model_version: Option<String>,
    /// Markdown for the model card: the data, the intended use and the limitations.
    #[arg(long, value_name = "FILE")]
    pub notes: Option<PathBuf>,
    /// Replace an existing export.
    #[arg(long)]
    pub force: bool,
    /// Shared arguments.
    #[command(flatten)]
    pub common: Common,
}
