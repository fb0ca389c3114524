//! Implementation of `trainer data`.

pub mod audit;
pub mod bench;
pub mod prepare;
