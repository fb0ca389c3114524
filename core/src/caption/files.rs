//! Names of the files in a bundle, and the tensors in them.

use crate::error::{CoreError, Result};
use crate::weights::Tensors;

/// Name of the only tensor in a file of embeddings, `[n, d_embed]`.
pub const EMBEDDINGS: &str = "embeddings";
/// Weights of the image encoder.
pub const IMAGE: &str = "image.safetensors";
/// Weights of the text encoder.
pub const TEXT: &str = "text.safetensors";
/// BPE merges of the text encoder's vocabulary.
pub const VOCABULARY: &str = "vocab.txt";
/// Nouns that are not names of nodes, each with its node. Used for typed words; optional.
pub const NOUNS: &str = "nouns.tsv";
/// Texts of the caption index, JSON.
pub const CAPTIONS: &str = "captions.json";
/// Embeddings of the caption index, tensor [`EMBEDDINGS`].
pub const CAPTION_EMBEDDINGS: &str = "captions.safetensors";
/// Nodes of the taxonomy, tab-separated.
pub const TAXONOMY: &str = "taxonomy.tsv";
/// Embeddings of the labelled nodes, tensor [`EMBEDDINGS`].
pub const LABEL_EMBEDDINGS: &str = "taxonomy.safetensors";
/// Calibration, JSON.
pub const CALIBRATION: &str = "calibration.json";
/// Vocabulary of statements, tab-separated; optional.
pub const STATEMENTS: &str = "statements.tsv";
/// Detectors of the parts of the vocabulary, tensors [`super::detectors::WEIGHTS`] and
/// [`super::detectors::BIAS`].
pub const DETECTORS: &str = "statements.safetensors";
/// Image of the self-test.
pub const SELFTEST_IMAGE: &str = "selftest.png";
/// Embedding of the self-test, tensor [`EMBEDDINGS`].
pub const SELFTEST_EMBEDDING: &str = "selftest.safetensors";

/// Returns the values of a tensor, which must have this name and shape.
///
/// # Errors
/// [`CoreError::TensorNames`] or [`CoreError::TensorShape`] when the file holds something else.
pub(super) fn values<'a>(tensors: &'a Tensors, name: &str, shape: &[usize]) -> Result<&'a [f32]> {
    let tensor = tensors.tensors.get(name);
    let tensor = tensor.ok_or_else(|| CoreError::TensorNames {
        missing: vec![name.into()],
        unknown: tensors.tensors.keys().cloned().collect(),
    })?;
    if tensor.shape != shape {
        return Err(CoreError::TensorShape {
            tensor: name.into(),
            expected: shape.to_vec(),
            found: tensor.shape.clone(),
        });
    }
    Ok(&tensor.data)
}
