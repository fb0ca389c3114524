//! A photo becomes a ladder of captions, from general to specific, and a path in the taxonomy.

pub mod calibration;
pub mod captioner;
pub mod evidence;
pub mod index;
pub mod ladder;
pub mod opening;
pub mod passing;
pub mod path;
pub mod photo;
pub mod placing;
pub mod prompts;
pub mod question;
pub mod receipt;
pub mod result;
pub mod texts;

pub use calibration::Calibration;
pub use captioner::{Caption, Captioner, ImageModel, TextModel};
pub use evidence::{Evidence, Seen};
pub use index::{CaptionEntry, CaptionIndex};
pub use opening::Opening;
pub use passing::Passed;
pub use path::{Classifier, Place, TaxonomyPath};
pub use photo::Photo;
pub use placing::{PlacedBy, TextPlace, nearest_node, node_embeddings, place_text};
pub use question::{ConeTest, Question, Verdict};
pub use receipt::Receipt;
pub use result::{CaptionResult, Lineage, ModelInfo, PathStep, PhotoInfo, Rung, TaxonomyResult};
pub use texts::{Texts, lexicon, weights_of};

/// Names of the files that a bundle consists of.
pub mod files {
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
    /// Embeddings of the caption index, tensor [`EMBEDDINGS`](super::EMBEDDINGS).
    pub const CAPTION_EMBEDDINGS: &str = "captions.safetensors";
    /// Nodes of the taxonomy, tab-separated.
    pub const TAXONOMY: &str = "taxonomy.tsv";
    /// Embeddings of the labelled nodes, tensor [`EMBEDDINGS`](super::EMBEDDINGS).
    pub const LABEL_EMBEDDINGS: &str = "taxonomy.safetensors";
    /// Calibration, JSON.
    pub const CALIBRATION: &str = "calibration.json";
    /// The self-test's picture.
    pub const SELFTEST_PICTURE: &str = "selftest.png";
    /// The self-test's embedding, tensor [`EMBEDDINGS`](super::EMBEDDINGS).
    pub const SELFTEST_EMBEDDING: &str = "selftest.safetensors";
}

/// Name of the one tensor in a file of embeddings, `[n, d_embed]`.
pub const EMBEDDINGS: &str = "embeddings";
