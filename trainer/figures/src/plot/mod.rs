//! The papers' figures and their data (notation 6.10, 6.11).
//!
//! Each kind of figure is a structure that can be printed as JSON. A function without I/O makes it
//! from points and names, and the file of the same name in [`draw`] draws it. The inputs are read
//! by [`subject`] (a model with the contents of its bundle) and [`photo_parts`] (images, texts and
//! boxes of a dataset with their points).

pub mod disk;
pub mod draw;
pub mod factors;
pub mod histogram;
pub mod ladder;
pub mod lineage;
pub mod norms;
pub mod photo_parts;
pub mod pr;
pub mod subject;
pub mod traversal;
pub mod umap;
