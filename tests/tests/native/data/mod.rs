//! Data, from shards on disk to batches: what is read, what is refused, what is skipped, and how a
//! run continues.

mod accounted;
mod batches;
mod cloud;
mod cloud_commands;
mod documents;
mod passes;
mod reading;
mod refused;
pub mod shards;
mod shared;
mod skipped;
mod stops;
mod support;
mod twin;
