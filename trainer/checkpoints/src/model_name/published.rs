//! Published models with short names.

use espalier_core::model::Preset;

/// A published model.
#[derive(Debug, PartialEq, Eq)]
pub struct Published {
    /// Short name.
    pub name: &'static str,
    /// Repository of the hub.
    pub repository: &'static str,
    /// Weights file, where the repository has several.
    pub file: Option<&'static str>,
    /// Architecture.
    pub architecture: Preset,
    /// Method, where the weights do not show it.
    pub method: Option<&'static str>,
    /// Terms of use that its authors state.
    pub licence: &'static str,
}

/// All published models with short names, smallest first within a family.
pub const PUBLISHED: [Published; 9] = [
    clip(
        "clip-vit-b32",
        "openai/clip-vit-base-patch32",
        Preset::ClipVitB32,
    ),
    clip(
        "clip-vit-b16",
        "openai/clip-vit-base-patch16",
        Preset::ClipVitB16,
    ),
    clip(
        "clip-vit-l14",
        "openai/clip-vit-large-patch14",
        Preset::ClipVitL14,
    ),
    clip(
        "laion-vit-b32",
        "laion/CLIP-ViT-B-32-laion2B-s34B-b79K",
        Preset::ClipVitB32,
    ),
    clip(
        "laion-vit-b16",
        "laion/CLIP-ViT-B-16-laion2B-s34B-b88K",
        Preset::ClipVitB16,
    ),
    clip(
        "laion-vit-l14",
        "laion/CLIP-ViT-L-14-laion2B-s32B-b82K",
        Preset::ClipVitL14,
    ),
    clip("bioclip", "imageomics/bioclip", Preset::ClipVitB16),
    hycoclip("hycoclip-vit-s", "hycoclip_vit_s.pth", Preset::VitS16_224),
    hycoclip("hycoclip-vit-b", "hycoclip_vit_b.pth", Preset::VitB16_224),
];

const fn clip(name: &'static str, repository: &'static str, architecture: Preset) -> Published {
    Published {
        name,
        repository,
        file: None,
        architecture,
        method: None,
        licence: "MIT",
    }
}

const fn hycoclip(name: &'static str, file: &'static str, architecture: Preset) -> Published {
    Published {
        name,
        repository: "avik-pal/hycoclip",
        file: Some(file),
        architecture,
        method: Some("hycoclip"),
        licence: "see its repository",
    }
}

impl Published {
    /// Returns the name of its repository on the command line.
    pub fn source(&self) -> String {
        format!("hf-hub:{}", self.repository)
    }

    /// Returns the bytes of its weights as a checkpoint of 32-bit floats.
    pub fn bytes(&self) -> u64 {
        4 * self.architecture.config().parameters()
    }
}
