//! The heart of Espalier: concept hierarchies in hyperbolic and radial embedding spaces.
//!
//! Bytes in, values out. The crate knows no backend, no file system, no network and no user
//! interface; it compiles for wasm32 and is shared by the trainer and the page so that the two
//! cannot drift apart. Read it in this order:
//!
//! 1. [`math`], [`geometry`]: points, distances, cones.
//! 2. [`nn`], [`model`]: the two towers and how they are lifted into the space.
//! 3. [`loss`]: what is trained.
//! 4. [`input`]: pictures and texts to tensors; the only such code in the project.
//! 5. [`taxonomy`]: the tree of concepts and how scores climb it.
//! 6. [`weights`], [`bundle`]: named tensors and the folder that the page loads.
//! 7. [`caption`]: a photo becomes a ladder.
//! 8. [`project`]: embeddings become pictures of a disk.
//! 9. [`words`]: small matters of English that captions and prompts share.
//!
//! The symbols used in every formula are listed in `docs/notation.md`.

#![forbid(unsafe_code)]

pub mod bundle;
pub mod caption;
pub mod error;
pub mod geometry;
pub mod input;
pub mod loss;
pub mod math;
pub mod model;
pub mod nn;
pub mod project;
pub mod taxonomy;
pub mod weights;
pub mod words;

pub use error::{CoreError, Result};
