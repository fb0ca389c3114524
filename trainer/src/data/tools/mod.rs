//! What `trainer data` does.

pub mod audit;
pub mod prepare;
