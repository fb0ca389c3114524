//! Captions a photo: a ladder of captions from general to specific, and a path in the taxonomy.

mod answer;
pub mod bundle_loader;
pub mod calibration;
pub mod captioner;
pub mod classifier;
pub mod detectors;
#[cfg(feature = "burn")]
mod device;
mod encoders;
mod engine;
pub mod evidence;
pub mod files;
pub mod heat;
pub mod index;
pub mod ladder;
mod node_scores;
pub mod photo;
pub mod placing;
pub mod prompts;
pub mod question;
pub mod reading;
pub mod receipt;
pub mod result;
mod scene;
pub mod self_test;
pub mod standing;
pub mod subjects;
pub mod taught;
pub mod taught_file;
pub mod text_embedder;
pub mod traversal;

pub use answer::Caption;
pub use bundle_loader::BundleLoader;
pub use calibration::Calibration;
pub use captioner::Captioner;
pub use classifier::{Classifier, Placement};
pub use detectors::Detectors;
pub use engine::Engine;
pub use evidence::{Evidence, ImageEvidence};
pub use files::EMBEDDINGS;
pub use heat::{Claim, HeatMap, Occlusions};
pub use index::{CaptionEntry, CaptionIndex};
pub use photo::Photo;
pub use placing::{PlacedBy, TextPlace, is_near, nearest_node, node_embeddings, place_text};
pub use question::{ConeTest, Question, Verdict};
pub use reading::{Reading, Request};
pub use receipt::Receipt;
pub use result::{
    CaptionResult, Lineage, ModelInfo, PathStep, PhotoInfo, Rung, Shown, TaxonomyResult,
};
pub use self_test::MIN_TEXT_COSINE;
pub use standing::{MIN_GUESS, Standing, shown_rungs, standings};
pub use subjects::Subject;
pub use taught::{TaughtCheck, TaughtConcept, placed_in, spoken_name};
pub use taught_file::TaughtFile;
pub use text_embedder::{TextEmbedder, lexicon, text_weight_files};
pub use traversal::TraversalPoint;
