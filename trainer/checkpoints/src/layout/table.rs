//! Table of the tensor names outside the blocks: ours, and those of every layout (notation 7.1 to
//! 7.3).

use espalier_core::model::DualConfig;

use super::blocks::{self, BlockStack, Style, TEXTUAL, VISUAL};
use super::name::Layout;
use super::tensor_mapping::{TensorMapping, Transform};

/// One dimension of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dim {
    /// Size 1. Only the MERU family and our files keep it as a leading dimension.
    One,
    Rgb,
    Patch,
    /// Number of patches, plus the class token if there is one.
    Tokens,
    Vision,
    Text,
    Vocabulary,
    Context,
    Embedding,
}

/// Which models have a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Always,
    ClassToken,
    PatchBias,
    PreNorm,
}

/// Name of a tensor in a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    /// Not stored as a tensor: absent, or part of a configuration file.
    Unnamed,
    /// The same name as ours.
    Ours,
    Is(&'static str),
    /// Stored for multiplication from the right: the transpose of a linear layer's weight.
    Transposed(&'static str),
}

struct Row {
    ours: &'static str,
    dims: &'static [Dim],
    when: When,
    hugging_face: Name,
    open_clip: Name,
}

const fn row(
    ours: &'static str,
    dims: &'static [Dim],
    when: When,
    hugging_face: Name,
    open_clip: Name,
) -> Row {
    Row {
        ours,
        dims,
        when,
        hugging_face,
        open_clip,
    }
}

use Dim::{Context, Embedding, One, Patch, Rgb, Text, Tokens, Vision, Vocabulary};
use Name::{Is, Ours, Transposed, Unnamed};
use When::{Always, ClassToken, PatchBias, PreNorm};

/// Our names of tensors whose shapes determine sizes: the patch kernel and others.
pub(super) const KERNEL: &str = "visual.patch_embed.proj.weight";
pub(super) const POSITIONS: &str = "visual.pos_embed";
pub(super) const TOKENS: &str = "textual.token_embed.weight";
/// Our name of the positions of texts.
pub const TEXT_POSITIONS: &str = "textual.posit_embed";
/// Our name of the projection of the features of images.
pub const PROJECTION: &str = "visual_proj.weight";

/// The table by our names, which are those of the MERU family.
#[rustfmt::skip]
const TABLE: [Row; 17] = [
    row("logit_scale", &[], Always, Ours, Ours),
    row("pixel_mean", &[Rgb, One, One], Always, Unnamed, Unnamed),
    row("pixel_std", &[Rgb, One, One], Always, Unnamed, Unnamed),
    row("visual.cls_token", &[One, One, Vision], ClassToken,
        Is("vision_model.embeddings.class_embedding"), Is("visual.class_embedding")),
    row(POSITIONS, &[One, Tokens, Vision], Always,
        Is("vision_model.embeddings.position_embedding.weight"), Is("visual.positional_embedding")),
    row(KERNEL, &[Vision, Rgb, Patch, Patch], Always,
        Is("vision_model.embeddings.patch_embedding.weight"), Is("visual.conv1.weight")),
    row("visual.patch_embed.proj.bias", &[Vision], PatchBias, Unnamed, Unnamed),
    row("visual.norm_pre.weight", &[Vision], PreNorm,
        Is("vision_model.pre_layrnorm.weight"), Is("visual.ln_pre.weight")),
    row("visual.norm_pre.bias", &[Vision], PreNorm,
        Is("vision_model.pre_layrnorm.bias"), Is("visual.ln_pre.bias")),
    row("visual.norm.weight", &[Vision], Always,
        Is("vision_model.post_layernorm.weight"), Is("visual.ln_post.weight")),
    row("visual.norm.bias", &[Vision], Always,
        Is("vision_model.post_layernorm.bias"), Is("visual.ln_post.bias")),
    row(TOKENS, &[Vocabulary, Text], Always,
        Is("text_model.embeddings.token_embedding.weight"), Is("token_embedding.weight")),
    row(TEXT_POSITIONS, &[Context, Text], Always,
        Is("text_model.embeddings.position_embedding.weight"), Is("positional_embedding")),
    row("textual.ln_final.weight", &[Text], Always,
        Is("text_model.final_layer_norm.weight"), Is("ln_final.weight")),
    row("textual.ln_final.bias", &[Text], Always,
        Is("text_model.final_layer_norm.bias"), Is("ln_final.bias")),
    row(PROJECTION, &[Embedding, Vision], Always,
        Is("visual_projection.weight"), Transposed("visual.proj")),
    row("textual_proj.weight", &[Embedding, Text], Always,
        Is("text_projection.weight"), Transposed("text_projection")),
];

/// Returns the stacks of blocks of a layout: image encoder, then text encoder.
pub(super) fn stacks(layout: Layout) -> [BlockStack; 2] {
    let stack = |prefix, style| BlockStack { prefix, style };
    match layout {
        Layout::HuggingFace => [
            stack("vision_model.encoder.layers", Style::HuggingFace),
            stack("text_model.encoder.layers", Style::HuggingFace),
        ],
        Layout::OpenClip => [
            stack("visual.transformer.resblocks", Style::Clip),
            stack("transformer.resblocks", Style::Clip),
        ],
        // EfficientNet-Lite has no transformer, so these names match nothing in its files.
        Layout::Meru | Layout::EfficientnetLite | Layout::Bert => [VISUAL, TEXTUAL],
    }
}

impl Row {
    /// Returns the name in a layout and how the numbers are stored there.
    fn named(&self, layout: Layout) -> Option<(&'static str, Transform)> {
        let name = match layout {
            Layout::HuggingFace => self.hugging_face,
            Layout::OpenClip => self.open_clip,
            Layout::Meru => Ours,
            Layout::EfficientnetLite | Layout::Bert => Unnamed,
        };
        match name {
            Unnamed => None,
            Ours => Some((self.ours, Transform::Stacked)),
            Is(name) => Some((name, Transform::Stacked)),
            Transposed(name) => Some((name, Transform::Transposed)),
        }
    }

    fn is_in(&self, config: &DualConfig) -> bool {
        match self.when {
            Always => true,
            ClassToken => config.vision.pool.has_class(),
            PatchBias => config.vision.patch_bias,
            PreNorm => config.vision.pre_norm,
        }
    }
}

fn size(dim: Dim, config: &DualConfig) -> usize {
    let (v, t) = (&config.vision, &config.text);
    match dim {
        One => 1,
        Rgb => 3,
        Patch => v.patch,
        Tokens => v.patches() + usize::from(v.pool.has_class()),
        Vision => v.d_model,
        Text => t.d_model,
        Vocabulary => t.vocab_size,
        Context => t.context,
        Embedding => config.d_embed,
    }
}

/// Returns the name in a layout of our tensor `ours`, and how it is stored there.
pub(super) fn named(layout: Layout, ours: &str) -> Option<(&'static str, Transform)> {
    TABLE.iter().find(|row| row.ours == ours)?.named(layout)
}

/// Returns every tensor of a model except the scalars of its space.
pub(super) fn mappings(layout: Layout, config: &DualConfig) -> Vec<TensorMapping> {
    let sizes = |dims: &[Dim]| dims.iter().map(|d| size(*d, config)).collect::<Vec<_>>();
    let mut out = Vec::new();
    for row in TABLE.iter().filter(|row| row.is_in(config)) {
        let Some((name, how)) = row.named(layout) else {
            continue;
        };
        let ones = row.dims.iter().take_while(|d| **d == One).count();
        let dropped = if layout == Layout::Meru { 0 } else { ones };
        let mut their_shape = sizes(&row.dims[dropped..]);
        if how == Transform::Transposed {
            their_shape.reverse();
        }
        out.push(TensorMapping {
            ours: row.ours.into(),
            shape: sizes(row.dims),
            theirs: vec![name.into()],
            their_shape,
            how,
        });
    }
    let (v, t) = (&config.vision, &config.text);
    let [image, text] = stacks(layout);
    let image_sizes = [v.n_layers, v.d_model, v.hidden()];
    out.extend(blocks::mappings(VISUAL, image, image_sizes));
    let text_sizes = [t.n_layers, t.d_model, t.hidden()];
    out.extend(blocks::mappings(TEXTUAL, text, text_sizes));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_layout_has_two_tensors_of_one_name() {
        for layout in [Layout::HuggingFace, Layout::OpenClip, Layout::Meru] {
            let names = TABLE.iter().filter_map(|row| row.named(layout));
            let mut names: Vec<&str> = names.map(|(name, _)| name).collect();
            let before = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), before, "{layout:?}");
        }
    }

    #[test]
    fn names_are_those_of_the_layouts() {
        let of = |layout| named(layout, PROJECTION);
        assert_eq!(
            of(Layout::HuggingFace),
            Some(("visual_projection.weight", Transform::Stacked))
        );
        assert_eq!(
            of(Layout::OpenClip),
            Some(("visual.proj", Transform::Transposed))
        );
        assert_eq!(of(Layout::Meru), Some((PROJECTION, Transform::Stacked)));
        assert_eq!(named(Layout::HuggingFace, "pixel_mean"), None);
    }
}
