//! One safetensors file under the names of the MERU family (notation 7.1), with the extra tensors
//! that strict loading elsewhere expects: the causal mask, and the scalars that PHyCLIP keeps
//! without using them.

use espalier_core::model::LiftKind;
use espalier_core::weights::HostTensor;
use espalier_io::disk::weights_file::Stored;

use super::checkpoint::{Checkpoint, Written};
use crate::layout::{Layout, causal_mask};

/// Returns the initial values of MERU's scalars: curvature 1, feature scales `d^-0.5`, as
/// logarithms (notation 2.0).
fn initial(name: &str, d_embed: usize) -> f32 {
    match name {
        "curv" => 0.0,
        _ => -0.5 * (d_embed as f32).ln(),
    }
}

pub(super) fn write(checkpoint: &Checkpoint) -> anyhow::Result<Written> {
    let card = &checkpoint.card;
    let config = &card.config;
    let (name, shape, bytes) = causal_mask(config.text.context);
    let mut extra_tensors = vec![(name.to_owned(), Stored::Flags(shape, bytes))];
    if let LiftKind::Product { .. } = config.lift {
        let kept = card.origin.as_ref().map(|o| &o.kept);
        for name in Layout::Meru.unused_scalars(config.lift) {
            let value = kept.and_then(|k| k.get(*name)).copied();
            let scalar = HostTensor {
                shape: Vec::new(),
                data: vec![value.unwrap_or_else(|| initial(name, config.d_embed))],
            };
            extra_tensors.push(((*name).to_owned(), Stored::Floats(scalar)));
        }
    }
    Ok(Written {
        weights: "model.safetensors",
        extra_tensors,
        card: Some(serde_json::to_string(card)?),
        ..Written::default()
    })
}
