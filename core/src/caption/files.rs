//! Names of the files that a bundle consists of.

/// Name of the one tensor in a file of embeddings, `[n, d_embed]`.
pub const EMBEDDINGS: &str = "embeddings";
/// Weights of the picture tower.
pub const IMAGE: &str = "image.safetensors";
/// Weights of the text tower.
pub const TEXT: &str = "text.safetensors";
/// Merges of the text tower's vocabulary.
pub const VOCABULARY: &str = "vocab.txt";
/// Nouns that name no node, with their nodes; for typed words, and not every bundle has them.
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
/// The self-test's picture.
pub const SELFTEST_PICTURE: &str = "selftest.png";
/// The self-test's embedding, tensor [`EMBEDDINGS`].
pub const SELFTEST_EMBEDDING: &str = "selftest.safetensors";
