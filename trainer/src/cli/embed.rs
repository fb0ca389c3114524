//! The grammar of `trainer embed`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::common::Common;

/// Embed pictures or texts.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: trainer embed --model logs/first --images photos/ --out e.safetensors"
)]
pub struct EmbedArgs {
    /// Run, checkpoint or bundle.
    #[arg(long, value_name = "C_OR_BUNDLE")]
    pub model: PathBuf,
    /// Folder of pictures.
    #[arg(long, value_name = "DIR", conflicts_with = "texts")]
    pub images: Option<PathBuf>,
    /// File with one text a line.
    #[arg(long, value_name = "FILE", required_unless_present = "images")]
    pub texts: Option<PathBuf>,
    /// Feature that is written for each image.
    #[arg(long, value_enum, default_value = "point", requires = "images")]
    pub feature: Feature,
    /// Where to write the tensor `embeddings` [n, d] and, in the metadata, the `names` of its rows.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Shared arguments.
    #[command(flatten)]
    pub common: Common,
}

/// What is taken of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Feature {
    /// Its point in the embedding space.
    Point,
    /// The pooled feature of the image encoder, before the projection.
    Pooled,
    /// The logits of the classifier that lies beside the checkpoint.
    Logits,
}
