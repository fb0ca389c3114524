//! Models on disk: checkpoints of this program, bundles of the page, and published files.
//!
//! [`model_file`] opens all of them as a model on a [`device`]. [`import`] converts published
//! checkpoints and [`published`] writes them; both follow the names of tensors in [`layout`].
//! [`model_name`] finds models by name.

pub mod averaged;
pub mod classifier_file;
pub mod device;
mod first_weights;
pub mod import;
pub mod layout;
pub mod model_file;
pub mod model_name;
pub mod published;

pub use first_weights::first_weights;
