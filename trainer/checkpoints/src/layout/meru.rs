//! Tensors that only files of the MERU family hold: the scalars of hyperbolic spaces (in a product,
//! one per factor) and a causal mask (notation 7.1).

use espalier_core::model::LiftKind;

use super::tensor_mapping::{TensorMapping, Transform};

/// The causal mask, which these files store as a buffer.
pub(super) const MASK: &str = "textual.attn_mask";

/// Scalars of MERU that PHyCLIP inherits but does not use.
pub(super) const UNUSED_BY_PRODUCTS: [&str; 3] = ["curv", "visual_alpha", "textual_alpha"];

/// Per-factor scalars: our name, then theirs.
const FACTORS: [(&str, &str); 3] = [
    ("curvs", "curvs"),
    ("visual_alphas", "visual_concept_alphas"),
    ("textual_alphas", "textual_concept_alphas"),
];

/// Returns the causal mask of a context length as published files store it: name, shape, and one
/// byte per entry, 1 where a token must not attend.
pub fn causal_mask(context: usize) -> (&'static str, Vec<usize>, Vec<u8>) {
    let rows = (0..context).flat_map(|row| (0..context).map(move |col| u8::from(col > row)));
    (MASK, vec![context, context], rows.collect())
}

/// Returns the curvatures and scales of a space.
pub(super) fn scalars(kind: LiftKind) -> Vec<TensorMapping> {
    match kind {
        LiftKind::Sphere => Vec::new(),
        LiftKind::Lorentz => ["curv", "visual_alpha", "textual_alpha"]
            .map(|name| TensorMapping::renamed(name, name, Vec::new()))
            .to_vec(),
        LiftKind::Product { factors, .. } => FACTORS
            .map(|(ours, theirs)| TensorMapping {
                ours: ours.into(),
                // A single scalar has rank 0, as everywhere in our files.
                shape: if factors == 1 { vec![] } else { vec![factors] },
                theirs: (0..factors).map(|i| format!("{theirs}.{i}")).collect(),
                their_shape: Vec::new(),
                how: Transform::Stacked,
            })
            .to_vec(),
    }
}
