//! Inputs of a training step.

pub mod anchors;
pub mod batch;
pub mod batch_spec;
pub mod distill;
pub mod feature_rows;
pub mod image_batch;
pub mod lane_batch;
pub mod text_batch;
