//! Several ranks train the model that one process trains.

#![allow(clippy::unwrap_used)]

// In threads of this process: the same code as with MPI, without a launcher.
mod embedding;
mod threads;

// In processes that `mpirun` starts.
mod processes;
