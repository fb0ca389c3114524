//! Training: a method, a stream of batches, an optimiser and an output folder.

mod adamw;
mod average;
pub mod checkpoint;
mod class_features;
mod encode;
mod exchange;
mod forks;
pub mod inputs;
mod label_check;
pub mod method;
pub mod micro_batch;
mod neighbours;
pub mod optimise;
mod pace;
mod plan;
mod prepare;
pub mod report;
pub mod rows;
pub mod run;
pub mod shared_batches;
pub mod source;
mod start;
pub mod step;
pub mod step_encoders;
pub mod summary;
mod teacher;
mod tensorboard;
pub mod text_features;
mod texts;
mod train_loop;
mod validate;

pub use label_check::check_labels;
pub use plan::{FitOutcome, Run};
pub use source::Source;
