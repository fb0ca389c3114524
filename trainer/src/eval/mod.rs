//! What a model is worth: embeddings first, then numbers from embeddings.

pub mod embed;
pub mod hierarchy;
pub mod ordering;
pub mod prompts;
pub mod record;
pub mod zero_shot;

pub use record::{Record, TaskName};
