//! Messages between the page and an engine's worker: data types only, no behaviour.

pub mod narration;
pub mod protocol;
pub mod query;
