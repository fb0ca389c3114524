//! The grammar of `trainer caption`.

use std::path::PathBuf;

use clap::Args;

use super::common::Common;

/// Caption photos.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: trainer caption --model static/models/default photo.jpg --json")]
pub struct CaptionArgs {
    /// Run, checkpoint or bundle.
    #[arg(long, value_name = "C_OR_BUNDLE")]
    pub model: PathBuf,
    /// Photos.
    #[arg(required = true, value_name = "PHOTO")]
    pub photos: Vec<PathBuf>,
    /// Part of the photo to caption, as shares of its width and height.
    #[arg(long, value_name = "x1,y1,x2,y2", value_delimiter = ',', num_args = 1)]
    pub region: Option<Vec<f32>>,
    /// Node of the taxonomy that the photo is known to show something at or below.
    #[arg(long, value_name = "NODE")]
    pub below: Option<String>,
    /// Print receipts, from which `trainer verify` computes the result again; needs a bundle.
    #[arg(long)]
    pub receipt: bool,
    /// Captions for a checkpoint, see `trainer export`.
    #[arg(long, value_name = "FILE")]
    pub captions: Option<PathBuf>,
    /// Taxonomy for a checkpoint.
    #[arg(long, value_name = "FILE")]
    pub taxonomy: Option<PathBuf>,
    /// Shared arguments.
    #[command(flatten)]
    pub common: Common,
}
