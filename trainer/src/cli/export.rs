//! The grammar of `trainer export`.

use std::path::PathBuf;

use clap::Args;

use super::common::Common;
use crate::export::ExportDtype;
use crate::export::published::ExportFormat;

/// Write a bundle for the page, or a checkpoint for other programs.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: trainer export --checkpoint logs/first --out bundle/ --dtype q8\n\
                  Example: trainer export --checkpoint logs/first --site site/\n\
                  Example: trainer export --checkpoint clip-b32 --format hf --out clip-b32-hf/"
)]
pub struct ExportArgs {
    /// Run or checkpoint; with --site also a bundle, which is taken as it is.
    #[arg(long, value_name = "CKPT")]
    pub checkpoint: PathBuf,
    /// Folder to write to; must not hold such a thing yet. Not needed with --site.
    #[arg(long, value_name = "DIR", required_unless_present = "site")]
    pub out: Option<PathBuf>,
    /// Folder for a whole site: the page, its widget, the bundle and an example of a project page,
    /// for any host of static files.
    #[arg(long, value_name = "DIR")]
    pub site: Option<PathBuf>,
    /// Folder of the built page for --site; looked for beside this program where not given.
    #[arg(long, value_name = "DIST", requires = "site")]
    pub page: Option<PathBuf>,
    /// Address at which the site will lie, for the lines to embed it with.
    #[arg(
        long,
        value_name = "URL",
        requires = "site",
        default_value = "https://example.org/espalier"
    )]
    pub url: String,
    /// What is written; all but `bundle` are for other programs and hold 32-bit floats.
    #[arg(long, value_enum, default_value = "bundle")]
    pub format: ExportFormat,
    /// How tensors of a bundle are stored.
    #[arg(long, value_enum, default_value = "q8")]
    pub dtype: ExportDtype,
    /// Captions, one a line or JSON lines with text, node and detail; made from the taxonomy where
    /// not given.
    #[arg(long, value_name = "FILE")]
    pub captions: Option<PathBuf>,
    /// Leave out captions that say where in the picture a thing is, for encoders whose features have
    /// lost its place.
    #[arg(long, conflicts_with = "captions")]
    pub no_places: bool,
    /// Table of nouns, WordNet's or of its form: typed words that name no node are looked up in it.
    #[arg(long, value_name = "FILE")]
    pub nouns: Option<PathBuf>,
    /// Taxonomy file, or a shipped taxonomy by name: wordnet or imagenet; that of the run where it
    /// is not given.
    #[arg(long, value_name = "FILE|NAME")]
    pub taxonomy: Option<PathBuf>,
    /// Labelled pictures for the gate and the calibration; the run's validation data, else its
    /// training data, where not given.
    #[arg(long, num_args = 1.., value_name = "PATH")]
    pub probe: Vec<PathBuf>,
    /// Pictures of the probe that are used.
    #[arg(long, default_value_t = 2000, value_name = "N")]
    pub probe_size: usize,
    /// Largest loss of top-1 by quantisation, in points of a hundred.
    #[arg(long, default_value_t = 0.5, value_name = "POINTS")]
    pub max_drop: f64,
    /// Name of the model in the manifest; that of the run where not given.
    #[arg(long)]
    pub name: Option<String>,
    /// Version of the model in the manifest.
    #[arg(long, default_value = "0.1.0")]
    pub model_version: String,
    /// Markdown for the model card: what the data is, what the model is for and where it fails.
    #[arg(long, value_name = "FILE")]
    pub notes: Option<PathBuf>,
    /// Replace a bundle that is there.
    #[arg(long)]
    pub force: bool,
    /// Shared arguments.
    #[command(flatten)]
    pub common: Common,
}
