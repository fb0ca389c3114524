//! What a training step is given.

pub mod anchors;
pub mod batch;
pub mod batch_spec;
pub mod distill;
pub mod feature_rows;
pub mod image_batch;
pub mod text_batch;
