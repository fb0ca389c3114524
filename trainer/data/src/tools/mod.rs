//! Implementation of `trainer data`.

pub mod audit;
mod audit_report;
pub mod bench;
pub mod prepare;
