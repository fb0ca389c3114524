//! Implementation of `trainer data`.

pub mod audit;
pub mod prepare;
