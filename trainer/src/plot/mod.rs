//! The numbers behind the papers' figures, and the figures (notation 6.10, 6.11).
//!
//! Each kind of figure is a structure that can be printed as JSON, made by a function without I/O
//! from points and names, and drawn by the file of the same name in [`draw`]. What they are made of
//! is read by [`subject`] (a model with what its bundle knows) and [`scenes`] (pictures, texts and
//! boxes of a dataset with their points).

pub mod disk;
pub mod draw;
pub mod factors;
pub mod histogram;
pub mod ladder;
pub mod lineage;
pub mod norms;
pub mod pr;
pub mod scenes;
pub mod subject;
pub mod traversal;
pub mod umap;
