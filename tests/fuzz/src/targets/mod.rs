//! The targets, one per kind of input.

pub mod benchmarks;
pub mod config;
pub mod image;
pub mod manifest;
pub mod messages;
pub mod nouns;
pub mod published;
pub mod results;
pub mod shards;
pub mod taxonomy;
pub mod texts;
pub mod tokenizer;
pub mod torch;
pub mod weights;
