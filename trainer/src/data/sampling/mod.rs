//! From records to batches: what is drawn, cropped and packed, by worker threads.

pub mod crops;
pub mod cuttings;
pub(crate) mod draw;
pub mod eval_set;
pub(crate) mod nothing;
pub(crate) mod pack;
pub mod stream;
