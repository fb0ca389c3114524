//! Captions a photo: a ladder of captions from general to specific, and a path in the taxonomy.

pub mod calibration;
pub mod captioner;
pub mod evidence;
pub mod files;
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
pub use files::EMBEDDINGS;
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
