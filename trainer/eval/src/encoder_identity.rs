//! Identities of encoders: equal for models whose features before the projection are equal.

use espalier_core::model::{DualConfig, ImageEncoder, TextEncoder};
use espalier_core::weights::{self, Tensors};
use serde::Serialize;
use sha2::{Digest, Sha256};

/// Returns the SHA-256 of an image encoder without its projection, in hex: pooled features do not depend on the
/// projection.
///
/// # Errors
/// If the weights cannot be read from the device.
pub fn of(image: &ImageEncoder, config: &DualConfig) -> anyhow::Result<String> {
    let mut tensors = weights::collect(image)?;
    tensors
        .tensors
        .retain(|name, _| !name.starts_with("visual_proj"));
    hash_of(tensors, &config.vision)
}

/// Returns the SHA-256 of the layers of a text encoder before what follows them, in hex.
///
/// # Errors
/// As [`of`].
pub fn of_text_layers(text: &TextEncoder, config: &DualConfig) -> anyhow::Result<String> {
    hash_of(weights::collect(&text.textual)?, &config.text)
}

/// Returns the hash of weights and settings: two architectures can have the same tensors and differ in their settings.
fn hash_of(tensors: Tensors, settings: &impl Serialize) -> anyhow::Result<String> {
    let mut hash = Sha256::new();
    for (name, tensor) in tensors.tensors {
        hash.update(format!("{name} {:?} ", tensor.shape));
        for value in tensor.data {
            hash.update(value.to_le_bytes());
        }
    }
    hash.update(serde_json::to_string(settings)?);
    Ok(hash.finalize().iter().map(|b| format!("{b:02x}")).collect())
}
