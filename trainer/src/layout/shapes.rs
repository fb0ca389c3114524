//! What the shapes of a file's tensors say of its architecture. Heads, the non-linearity and the
//! epsilon of norms leave no trace in shapes (METHODS traps 24 to 26).

use super::Layout;

/// Sizes that were read off; `None` where the tensor that says it is missing or has another rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Side of the picture in pixels.
    pub image_size: Option<usize>,
    /// Side of a patch in pixels.
    pub patch: Option<usize>,
    /// Width of picture tokens.
    pub vision_width: Option<usize>,
    /// Blocks of the picture tower.
    pub vision_layers: Option<usize>,
    /// Feed-forward width of the picture tower.
    pub vision_hidden: Option<usize>,
    /// Token ids.
    pub vocab: Option<usize>,
    /// Longest text in tokens.
    pub context: Option<usize>,
    /// Width of text tokens.
    pub text_width: Option<usize>,
    /// Blocks of the text tower.
    pub text_layers: Option<usize>,
    /// Feed-forward width of the text tower.
    pub text_hidden: Option<usize>,
    /// Width of the embeddings.
    pub embed: Option<usize>,
    /// Factors of a product of Lorentz spaces; 0 for none.
    pub factors: usize,
}

/// Names of the tensors that are measured.
struct Marks {
    kernel: &'static str,
    positions: &'static str,
    tokens: &'static str,
    text_positions: &'static str,
    vision_blocks: &'static str,
    text_blocks: &'static str,
    vision_widening: &'static str,
    text_widening: &'static str,
    projection: &'static str,
    /// The dimension of `projection` that is the embedding's.
    embed_at: usize,
}

const HUGGING_FACE: Marks = Marks {
    kernel: "vision_model.embeddings.patch_embedding.weight",
    positions: "vision_model.embeddings.position_embedding.weight",
    tokens: "text_model.embeddings.token_embedding.weight",
    text_positions: "text_model.embeddings.position_embedding.weight",
    vision_blocks: "vision_model.encoder.layers.",
    text_blocks: "text_model.encoder.layers.",
    vision_widening: "vision_model.encoder.layers.0.mlp.fc1.weight",
    text_widening: "text_model.encoder.layers.0.mlp.fc1.weight",
    projection: "visual_projection.weight",
    embed_at: 0,
};
const OPEN_CLIP: Marks = Marks {
    kernel: "visual.conv1.weight",
    positions: "visual.positional_embedding",
    tokens: "token_embedding.weight",
    text_positions: "positional_embedding",
    vision_blocks: "visual.transformer.resblocks.",
    text_blocks: "transformer.resblocks.",
    vision_widening: "visual.transformer.resblocks.0.mlp.c_fc.weight",
    text_widening: "transformer.resblocks.0.mlp.c_fc.weight",
    projection: "visual.proj",
    embed_at: 1,
};
const MERU: Marks = Marks {
    kernel: "visual.patch_embed.proj.weight",
    positions: "visual.pos_embed",
    tokens: "textual.token_embed.weight",
    text_positions: "textual.posit_embed",
    vision_blocks: "visual.blocks.",
    text_blocks: "textual.resblocks.",
    vision_widening: "visual.blocks.0.mlp.fc1.weight",
    text_widening: "textual.resblocks.0.mlp.c_fc.weight",
    projection: "visual_proj.weight",
    embed_at: 0,
};

/// The largest number behind a prefix, plus one.
fn count<'a>(names: impl Iterator<Item = &'a str>, prefix: &str) -> Option<usize> {
    names
        .filter_map(|n| n.strip_prefix(prefix)?.split('.').next()?.parse().ok())
        .max()
        .map(|largest: usize| largest.saturating_add(1))
}

impl Measured {
    /// Measure a file: `names` of its tensors, and the shape behind a name.
    pub fn of<'a, 'b>(
        layout: Layout,
        names: impl Iterator<Item = &'a str> + Clone,
        shape: impl Fn(&str) -> Option<&'b [usize]>,
    ) -> Self {
        let marks = match layout {
            Layout::HuggingFace => HUGGING_FACE,
            Layout::OpenClip => OPEN_CLIP,
            Layout::Meru => MERU,
        };
        let dim = |name: &str, rank: usize, at: usize| {
            let shape = shape(name).filter(|s| s.len() == rank)?;
            Some(shape[at])
        };
        let patch = dim(marks.kernel, 4, 2);
        // The second dimension from the right counts tokens, whatever stands before it.
        let positions = shape(marks.positions).filter(|s| s.len() >= 2);
        let patches = positions.and_then(|s| s[s.len() - 2].checked_sub(1));
        let side = patches.map(usize::isqrt);
        let square = side.zip(patches).is_some_and(|(s, n)| s * s == n);
        Self {
            image_size: side
                .zip(patch)
                .filter(|_| square)
                .and_then(|(s, p)| s.checked_mul(p)),
            patch,
            vision_width: dim(marks.kernel, 4, 0),
            vision_layers: count(names.clone(), marks.vision_blocks),
            vision_hidden: dim(marks.vision_widening, 2, 0),
            vocab: dim(marks.tokens, 2, 0),
            context: dim(marks.text_positions, 2, 0),
            text_width: dim(marks.tokens, 2, 1),
            text_layers: count(names.clone(), marks.text_blocks),
            text_hidden: dim(marks.text_widening, 2, 0),
            embed: dim(marks.projection, 2, marks.embed_at),
            factors: count(names, "curvs.").unwrap_or(0),
        }
    }
}
