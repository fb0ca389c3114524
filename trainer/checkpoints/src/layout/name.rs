//! The published tensor layouts that are read and written.

use serde::{Deserialize, Serialize};

use super::meru::MASK;

/// Naming scheme of the tensors in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// `transformers`' CLIP (notation 7.2).
    HuggingFace,
    /// OpenAI's and open_clip's CLIP (notation 7.3).
    OpenClip,
    /// MERU, HyCoCLIP, PHyCLIP and their CLIP baselines (notation 7.1).
    Meru,
    /// EfficientNet-Lite: an image encoder with a classifier, no text encoder.
    EfficientnetLite,
    /// BERT's family: a text encoder alone.
    Bert,
}

impl Layout {
    /// Returns the layout of a file, determined from its tensor names.
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        names.into_iter().find_map(|name| {
            if name.starts_with("vision_model.") || name.starts_with("text_model.") {
                Some(Self::HuggingFace)
            } else if name == "visual.conv1.weight"
                || name.starts_with("visual.transformer.")
                || name.starts_with("transformer.resblocks.")
            {
                Some(Self::OpenClip)
            } else if name.starts_with("visual.blocks.") || name.starts_with("textual.") {
                Some(Self::Meru)
            } else if name == "_conv_stem.weight" {
                Some(Self::EfficientnetLite)
            } else if name == "embeddings.word_embeddings.weight" {
                Some(Self::Bert)
            } else {
                None
            }
        })
    }

    /// Returns the name used in messages.
    pub fn title(self) -> &'static str {
        match self {
            Self::HuggingFace => "Hugging Face CLIP",
            Self::OpenClip => "open_clip",
            Self::Meru => "MERU family",
            Self::EfficientnetLite => "EfficientNet-Lite",
            Self::Bert => "BERT",
        }
    }

    /// Returns the library that reads files of this layout, as model cards name it.
    pub fn library(self) -> &'static str {
        match self {
            Self::HuggingFace => "transformers",
            Self::OpenClip => "open_clip",
            Self::Meru | Self::EfficientnetLite | Self::Bert => "espalier",
        }
    }

    /// Returns whether a tensor of such files carries no information and is ignored: counters,
    /// masks, sizes.
    pub fn is_uninformative(self, name: &str) -> bool {
        match self {
            Self::HuggingFace => name.ends_with(".embeddings.position_ids"),
            Self::OpenClip => [
                "attn_mask",
                "input_resolution",
                "context_length",
                "vocab_size",
            ]
            .contains(&name),
            Self::Meru => name == MASK,
            // Number of batches in the running statistics.
            Self::EfficientnetLite => name.ends_with(".num_batches_tracked"),
            // Layers for the tasks of BERT's own training.
            Self::Bert => name == "embeddings.position_ids" || name.starts_with("pooler."),
        }
    }
}
