//! OpenAI's and open_clip's CLIP (METHODS 7.3): projections are stored as they are multiplied from
//! the right, so they are transposed with respect to a linear layer.

use espalier_core::model::DualConfig;

use super::blocks::{self, Side, Style, TEXTUAL, VISUAL};
use super::{How, Piece};

const VISION_BLOCKS: Side = Side {
    prefix: "visual.transformer.resblocks",
    style: Style::Clip,
};
const TEXT_BLOCKS: Side = Side {
    prefix: "transformer.resblocks",
    style: Style::Clip,
};

fn projection(ours: &str, theirs: &str, d_in: usize, d_out: usize) -> Piece {
    Piece {
        ours: ours.into(),
        shape: vec![d_out, d_in],
        theirs: vec![theirs.into()],
        their_shape: vec![d_in, d_out],
        how: How::Transposed,
    }
}

pub(super) fn pieces(config: &DualConfig) -> Vec<Piece> {
    let (v, t) = (&config.vision, &config.text);
    let tokens = v.patches() + usize::from(v.pool.has_class());
    let (dv, dt, e) = (v.d_model, t.d_model, config.d_embed);
    let same = |ours: &str, shape: &[usize], theirs: &str| Piece::same(ours, shape, theirs, shape);
    let mut out = vec![
        same("logit_scale", &[], "logit_scale"),
        Piece::same(
            "visual.cls_token",
            &[1, 1, dv],
            "visual.class_embedding",
            &[dv],
        ),
        Piece::same(
            "visual.pos_embed",
            &[1, tokens, dv],
            "visual.positional_embedding",
            &[tokens, dv],
        ),
        same(
            "visual.patch_embed.proj.weight",
            &[dv, 3, v.patch, v.patch],
            "visual.conv1.weight",
        ),
        projection("visual_proj.weight", "visual.proj", dv, e),
        projection("textual_proj.weight", "text_projection", dt, e),
        same(
            "textual.token_embed.weight",
            &[t.vocab_size, dt],
            "token_embedding.weight",
        ),
        same(
            "textual.posit_embed",
            &[t.context, dt],
            "positional_embedding",
        ),
    ];
    let mut norms = vec![
        ("visual.norm", "visual.ln_post", dv),
        ("textual.ln_final", "ln_final", dt),
    ];
    if v.pre_norm {
        norms.push(("visual.norm_pre", "visual.ln_pre", dv));
    }
    for (ours, theirs, d) in norms {
        for part in ["weight", "bias"] {
            out.push(same(
                &format!("{ours}.{part}"),
                &[d],
                &format!("{theirs}.{part}"),
            ));
        }
    }
    let (image, text) = ((v.n_layers, v.hidden()), (t.n_layers, t.hidden()));
    out.extend(blocks::pieces(VISUAL, VISION_BLOCKS, image.0, dv, image.1));
    out.extend(blocks::pieces(TEXTUAL, TEXT_BLOCKS, text.0, dt, text.1));
    out
}
