//! From a checkpoint to a bundle: quantise, compare, and only then write.

pub mod build;
pub mod captions;
pub mod card;
pub mod gate;
pub mod published;
pub mod selftest;

pub use build::{Bundle, Contents};
