//! Several ranks train the model that one process trains.

#![allow(clippy::unwrap_used)]

mod embedding;
mod processes;
mod threads;
