//! Core of Espalier: concept hierarchies in hyperbolic and radial embedding spaces.
//!
//! The crate takes bytes and returns values. It has no backend, no file system, no network and no
//! user interface. It compiles for wasm32, and the trainer and the page share it, so both compute
//! the same. Suggested order of reading:
//!
//! 1. [`math`], [`geometry`]: points, distances, cones.
//! 2. [`nn`], [`model`]: the two encoders, and the map from features to points of the space.
//! 3. [`kernels`]: fast inference of the image encoder on a CPU. [`loss`]: the training losses.
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
//! network. `device` decides which backend computes: `Device::default()` is the first one that the
//! program was built with.
//!
//! ```
//! use std::path::Path;
//!
//! use burn::tensor::Device;
//! use espalier_core::bundle::{BundleFiles, Manifest, Part};
//! use espalier_core::caption::{Captioner, Request};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = Path::new("../static/models/tiny");
//! let json = std::fs::read(folder.join("manifest.json"))?;
//! let manifest = Manifest::parse(&json)?;
//! let mut files = BundleFiles::default();
//! let parts = [Part::Captions, Part::Taxonomy, Part::Image, Part::Selftest];
//! for file in manifest.files_of(&parts) {
//!     let bytes = std::fs::read(folder.join(&file.path))?;
//!     files.insert_checked(&manifest, &file.path, bytes)?;
//! }
//! let captioner = Captioner::open(&json, &files, &Device::default())?;
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
//! The symbols used in every formula are listed in `docs/notation.md`.

// One file of `kernels::grad` calls the matrix product, which takes pointers.
#![cfg_attr(not(feature = "flex-ops"), forbid(unsafe_code))]

pub mod bundle;
pub mod caption;
pub mod error;
pub mod geometry;
pub mod input;
pub mod kernels;
pub mod loss;
pub mod math;
pub mod model;
pub mod nn;
pub mod ops;
pub mod project;
pub mod taxonomy;
pub mod weights;
pub mod words;

pub use error::{CoreError, Result};
