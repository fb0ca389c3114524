//! Command line of `trainer embed`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::common::Common;

/// Embed images or texts.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: trainer embed --model logs/first --images photos/ --out e.safetensors"
)]
pub struct EmbedArgs {
    /// Run folder, checkpoint, bundle, hf-hub:org/name or a name of `trainer models`.
    #[arg(long, visible_alias = "checkpoint", value_name = "MODEL")]
    pub model: PathBuf,
    /// Folder of images, also in folders below it; names are relative to it.
    #[arg(long, value_name = "DIR", conflicts_with = "texts")]
    pub images: Option<PathBuf>,
    /// File with one text per line.
    #[arg(long, value_name = "FILE", required_unless_present = "images")]
    pub texts: Option<PathBuf>,
    /// Feature to write for each image.
    #[arg(long, value_enum, default_value = "point", requires = "images")]
    pub feature: Feature,
    /// Output file: the tensor `embeddings` [n, d], and in the metadata the `names` of its rows.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Shared arguments.
    #[command(flatten)]
    pub common: Common,
}

/// Feature of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Feature {
    /// The point in the embedding space.
    Point,
    /// The pooled feature of the image encoder, before the projection.
    Pooled,
    /// The logits of the classifier stored next to the checkpoint.
    Logits,
}
