//! Command line of `trainer caption`.

use std::path::PathBuf;

use clap::Args;

use super::common::Common;

/// Caption photos.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: trainer caption --model bundle/ photo.jpg --json")]
pub struct CaptionArgs {
    /// Run folder, checkpoint, bundle, hf-hub:org/name or a name of `trainer models`.
    #[arg(long, visible_alias = "checkpoint", value_name = "MODEL")]
    pub model: PathBuf,
    /// Photos to caption.
    #[arg(required = true, value_name = "PHOTO")]
    pub photos: Vec<PathBuf>,
    /// Part of the photo to caption: left, top, right and bottom as fractions of its width and
    /// height.
    #[arg(long, value_name = "x1,y1,x2,y2", value_delimiter = ',', num_args = 1)]
    pub region: Option<Vec<f32>>,
    /// Taxonomy node; the photo is known to show something at or below it.
    #[arg(long, value_name = "NODE")]
    pub below: Option<String>,
    /// Concepts that were taught by photos on the page and saved there; may be repeated.
    #[arg(long, value_name = "FILE")]
    pub extra: Option<Vec<PathBuf>>,
    /// Print receipts, which `trainer verify` can reproduce; needs a bundle.
    #[arg(long)]
    pub receipt: bool,
    /// File of captions, when the model is a checkpoint; see `trainer export`.
    #[arg(long, value_name = "FILE")]
    pub captions: Option<PathBuf>,
    /// Taxonomy, when the model is a checkpoint.
    #[arg(long, value_name = "FILE")]
    pub taxonomy: Option<PathBuf>,
    /// Shared arguments.
    #[command(flatten)]
    pub common: Common,
}
