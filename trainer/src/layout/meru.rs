//! MERU, HyCoCLIP, PHyCLIP and their CLIP baselines (METHODS 7.1). Our own names are theirs; what
//! differs is that a product of factors keeps one scalar a factor.

use espalier_core::model::{DualConfig, LiftKind};

use super::blocks::{self, TEXTUAL, VISUAL};
use super::{How, Piece};

/// The causal mask that these files carry as a buffer.
pub(super) const MASK: &str = "textual.attn_mask";

/// Scalars of MERU that PHyCLIP inherits and does not use.
pub(super) const UNUSED_BY_PRODUCTS: [&str; 3] = ["curv", "visual_alpha", "textual_alpha"];

/// Per-factor scalars: our name, theirs.
const FACTORS: [(&str, &str); 3] = [
    ("curvs", "curvs"),
    ("visual_alphas", "visual_concept_alphas"),
    ("textual_alphas", "textual_concept_alphas"),
];

/// Rows of the causal mask of a context, as published files hold it: true where a token must not
/// look.
#[must_use]
pub fn causal_mask(context: usize) -> (&'static str, Vec<usize>, Vec<u8>) {
    let rows = (0..context).flat_map(|row| (0..context).map(move |col| u8::from(col > row)));
    (MASK, vec![context, context], rows.collect())
}

fn lift(kind: LiftKind) -> Vec<Piece> {
    match kind {
        LiftKind::Sphere => Vec::new(),
        LiftKind::Lorentz => ["curv", "visual_alpha", "textual_alpha"]
            .map(|name| Piece::same(name, &[], name, &[]))
            .to_vec(),
        LiftKind::Product { factors, .. } => FACTORS
            .map(|(ours, theirs)| Piece {
                ours: ours.into(),
                // A single scalar has no dimension, as everywhere.
                shape: if factors == 1 { vec![] } else { vec![factors] },
                theirs: (0..factors).map(|i| format!("{theirs}.{i}")).collect(),
                their_shape: Vec::new(),
                how: How::Stacked,
            })
            .to_vec(),
    }
}

pub(super) fn pieces(config: &DualConfig) -> Vec<Piece> {
    let (v, t) = (&config.vision, &config.text);
    let tokens = v.patches() + usize::from(v.pool.has_class());
    let (dv, dt, e) = (v.d_model, t.d_model, config.d_embed);
    let same = |name: &str, shape: &[usize]| Piece::same(name, shape, name, shape);
    let mut out = vec![
        same("logit_scale", &[]),
        same("pixel_mean", &[3, 1, 1]),
        same("pixel_std", &[3, 1, 1]),
        same("visual.pos_embed", &[1, tokens, dv]),
        same("visual.patch_embed.proj.weight", &[dv, 3, v.patch, v.patch]),
        same("visual.norm.weight", &[dv]),
        same("visual.norm.bias", &[dv]),
        same("textual.posit_embed", &[t.context, dt]),
        same("textual.token_embed.weight", &[t.vocab_size, dt]),
        same("textual.ln_final.weight", &[dt]),
        same("textual.ln_final.bias", &[dt]),
        same("visual_proj.weight", &[e, dv]),
        same("textual_proj.weight", &[e, dt]),
    ];
    if v.pool.has_class() {
        out.push(same("visual.cls_token", &[1, 1, dv]));
    }
    if v.patch_bias {
        out.push(same("visual.patch_embed.proj.bias", &[dv]));
    }
    if v.pre_norm {
        out.push(same("visual.norm_pre.weight", &[dv]));
        out.push(same("visual.norm_pre.bias", &[dv]));
    }
    out.extend(lift(config.lift));
    out.extend(blocks::pieces(VISUAL, VISUAL, v.n_layers, dv, v.hidden()));
    out.extend(blocks::pieces(TEXTUAL, TEXTUAL, t.n_layers, dt, t.hidden()));
    out
}
