//! A run on photos of one's own that lie in one folder per class, planned from nothing else.
//!
//! 1. [`classes`] lists the photos and sets some of each class aside.
//! 2. [`mod@reference`] opens the tree and the classifier of the model to start from.
//! 3. [`places`] finds the place of each class in that tree: by its name, or by what its photos show.
//! 4. [`tree`] writes the taxonomy of the classes and of what lies above them.
//! 5. [`plan`] combines the steps and writes the taxonomy and the list of photos for the run.

pub mod classes;
pub mod places;
pub mod plan;
pub mod reference;
pub mod tree;
