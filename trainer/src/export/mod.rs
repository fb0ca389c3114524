//! Export of a checkpoint to a bundle: quantise, compare, then write.

pub mod arithmetic;
pub mod build;
pub mod calibrate;
pub mod captions;
pub mod card;
pub mod detectors;
mod dtype;
pub mod folder;
pub mod gate;
pub mod nouns;
pub mod pieces;
pub mod samples;
pub mod selftest;
pub mod site;

pub use arithmetic::ExportArithmetic;
pub use build::{Bundle, Contents};
pub use dtype::ExportDtype;
