//! Core of Espalier: concept hierarchies in hyperbolic and radial embedding spaces.
//!
//! The crate takes bytes and returns values. It has no backend, no file system, no network and no
//! user interface. It compiles for wasm32, and the trainer and the page share it, so both compute
//! the same. Suggested order of reading:
//!
//! 1. [`math`], [`geometry`]: points, distances, cones.
//! 2. [`nn`], [`model`]: the two encoders, and the map from features to points of the space.
//! 3. [`kernels`]: fast inference of both encoders on a CPU. [`loss`]: the training losses.
//! 4. [`input`]: images and texts to tensors; the only code of this kind in the project.
//! 5. [`taxonomy`]: the tree of concepts, and how scores are summed up along it.
//! 6. [`weights`], [`bundle`]: named tensors and the folder that the page loads.
//! 7. [`caption`]: from a photo to a ladder of captions.
//! 8. [`project`]: from embeddings to points of a disk that can be drawn.
//! 9. [`words`]: English articles and plurals for captions and prompts.
//!
//! # Example
//!
//! Captions a photo with a bundle that was read from disk; a page reads the same files over the
//! network. The engine decides what computes: [`Engine::Kernels`](caption::Engine) is the CPU,
//! without any backend.
//!
//! ```
//! use std::path::Path;
//!
//! use espalier_core::bundle::{BundleFiles, Manifest, Part};
//! use espalier_core::caption::{Captioner, Engine, Request};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = Path::new("../static/models/tiny");
//! let json = std::fs::read(folder.join("manifest.json"))?;
//! let manifest = Manifest::parse(&json)?;
//! let mut files = BundleFiles::default();
//! let parts = Part::OF_AN_ANSWER;
//! for file in manifest.files_of(&parts) {
//!     let bytes = std::fs::read(folder.join(&file.path))?;
//!     files.insert_checked(&manifest, &file.path, bytes)?;
//! }
//! let captioner = Captioner::open(&json, &files, &Engine::Kernels)?;
//!
//! let photo = std::fs::read("../static/samples/small/raccoon.jpg")?;
//! let no_clock = || 0.0;
//! let reading = pollster::block_on(captioner.read(&photo, Request::default(), no_clock))?;
//! let ladder = &reading.caption.ladder;
//! assert!(ladder.len() > 1);
//! // Captions go from general to specific, so from the root outwards.
//! assert!(ladder.is_sorted_by(|general, specific| general.radius <= specific.radius));
//! # Ok(())
//! # }
//! ```
//!
//! [`geometry`] and [`loss`] have examples of their own.
//!
//! # Features
//!
//! `burn` (default) adds models and losses on Burn's tensors: training, evaluation, and inference on
//! any of Burn's devices. Without it the crate does all that a page needs to caption photos on a CPU.
//!
//! The symbols used in every formula are listed in `docs/notation.md`.

#![forbid(unsafe_code)]

pub mod bundle;
pub mod caption;
mod defaults;
pub mod error;
pub mod geometry;
pub mod input;
pub mod kernels;
#[cfg(feature = "burn")]
pub mod loss;
#[cfg(feature = "burn")]
pub mod math;
pub mod model;
pub mod nn;
#[cfg(feature = "burn")]
pub mod ops;
pub mod project;
pub mod shown;
pub mod statements;
pub mod taxonomy;
pub mod weights;
pub mod words;

pub use error::{CoreError, Result};
