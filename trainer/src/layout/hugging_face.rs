//! `transformers`' CLIP (METHODS 7.2), `pre_layrnorm` spelt as there.

use espalier_core::model::DualConfig;

use super::Piece;
use super::blocks::{self, Side, Style, TEXTUAL, VISUAL};

const VISION_BLOCKS: Side = Side {
    prefix: "vision_model.encoder.layers",
    style: Style::HuggingFace,
};
const TEXT_BLOCKS: Side = Side {
    prefix: "text_model.encoder.layers",
    style: Style::HuggingFace,
};

pub(super) fn pieces(config: &DualConfig) -> Vec<Piece> {
    let (v, t) = (&config.vision, &config.text);
    let tokens = v.patches() + 1;
    let (dv, dt, e) = (v.d_model, t.d_model, config.d_embed);
    let kernel = [dv, 3, v.patch, v.patch];
    let same = |ours: &str, shape: &[usize], theirs: &str| Piece::same(ours, shape, theirs, shape);
    let mut out = vec![
        same("logit_scale", &[], "logit_scale"),
        Piece::same(
            "visual.cls_token",
            &[1, 1, dv],
            "vision_model.embeddings.class_embedding",
            &[dv],
        ),
        Piece::same(
            "visual.pos_embed",
            &[1, tokens, dv],
            "vision_model.embeddings.position_embedding.weight",
            &[tokens, dv],
        ),
        same(
            "visual.patch_embed.proj.weight",
            &kernel,
            "vision_model.embeddings.patch_embedding.weight",
        ),
        same("visual_proj.weight", &[e, dv], "visual_projection.weight"),
        same("textual_proj.weight", &[e, dt], "text_projection.weight"),
        same(
            "textual.token_embed.weight",
            &[t.vocab_size, dt],
            "text_model.embeddings.token_embedding.weight",
        ),
        same(
            "textual.posit_embed",
            &[t.context, dt],
            "text_model.embeddings.position_embedding.weight",
        ),
    ];
    for (ours, theirs, d) in [
        ("visual.norm_pre", "vision_model.pre_layrnorm", dv),
        ("visual.norm", "vision_model.post_layernorm", dv),
        ("textual.ln_final", "text_model.final_layer_norm", dt),
    ] {
        for part in ["weight", "bias"] {
            out.push(same(
                &format!("{ours}.{part}"),
                &[d],
                &format!("{theirs}.{part}"),
            ));
        }
    }
    out.extend(blocks::pieces(
        VISUAL,
        VISION_BLOCKS,
        v.n_layers,
        dv,
        v.hidden(),
    ));
    out.extend(blocks::pieces(
        TEXTUAL,
        TEXT_BLOCKS,
        t.n_layers,
        dt,
        t.hidden(),
    ));
    out
}
