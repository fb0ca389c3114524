//! The probe: labelled images on which a bundle is measured.

use std::sync::Arc;

use burn::tensor::Device;
use espalier_checkpoints::model_file::Model;
use espalier_core::taxonomy::{NodeIx, Taxonomy};
use espalier_data::Dataset;
use espalier_eval::embed::{self, ReadLimits};
use espalier_eval::{TextFeatures, zero_shot};
use espalier_io::exit::usage;

use crate::export::build::PROMPTS;
use crate::export::gate::EmbeddedProbe;

/// Number of images encoded at a time.
const BATCH: usize = 64;

/// Returns the limits for reading up to `size` images of the probe.
pub(super) fn read_limits(size: usize) -> ReadLimits {
    ReadLimits {
        batch_size: BATCH,
        most: size,
        max_broken: 0.01,
    }
}

/// Embeds the images of the probe and their classes.
pub(super) fn embed_probe<'a>(
    model: &'a Model,
    probe: &Arc<dyn Dataset>,
    taxonomy: &Taxonomy,
    size: usize,
    device: &Device,
) -> anyhow::Result<EmbeddedProbe<'a>> {
    let (data, limits) = (Arc::clone(probe), read_limits(size));
    let images = embed::labelled(model, data, taxonomy, limits, device)?;
    if images.labels.is_empty() {
        return Err(usage(
            "--probe: expected images with labels of the taxonomy, found none",
        ));
    }
    let nodes = zero_shot::classes_of(&images);
    let encoder = TextFeatures::new(model, device)?;
    let of_texts = embed::classes(&encoder, taxonomy, &nodes, PROMPTS)?;
    let stored = |ix: &NodeIx| model.label_points.get(&taxonomy.node(*ix).id).cloned();
    let classes = nodes.iter().zip(of_texts);
    let classes = classes.map(|(ix, of_text)| stored(ix).unwrap_or(of_text));
    Ok(EmbeddedProbe {
        model,
        images,
        classes: classes.collect(),
    })
}
