//! The targets, one per kind of input.

pub mod image;
pub mod manifest;
pub mod messages;
pub mod results;
pub mod taxonomy;
pub mod tokenizer;
pub mod weights;
