//! Identity of an image encoder: equal for models whose pooled features are equal.

use espalier_core::model::{DualConfig, ImageEncoder};
use espalier_core::weights;
use sha2::{Digest, Sha256};

/// Returns the SHA-256 of an image encoder without its projection, in hex: pooled features do not depend on the
/// projection.
///
/// # Errors
/// If the weights cannot be read from the device.
pub fn of(image: &ImageEncoder, config: &DualConfig) -> anyhow::Result<String> {
    let mut hash = Sha256::new();
    for (name, tensor) in weights::collect(image)?.tensors {
        if name.starts_with("visual_proj") {
            continue;
        }
        hash.update(format!("{name} {:?} ", tensor.shape));
        for value in tensor.data {
            hash.update(value.to_le_bytes());
        }
    }
    // Two architectures can have the same tensors and differ in their settings.
    hash.update(serde_json::to_string(&config.vision)?);
    Ok(hash.finalize().iter().map(|b| format!("{b:02x}")).collect())
}
