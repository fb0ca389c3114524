//! An MPI library with its launcher, for training in several processes.

use anyhow::{Context, Result};

use super::apt;
use crate::process::working;

/// Debian's packages: the library with its compiler wrapper, the launcher, and libclang, with which
/// the binding reads the library's header.
const PACKAGES: [&str; 3] = ["libopenmpi-dev", "openmpi-bin", "libclang-dev"];

/// Arguments that build the trainer with MPI.
pub const FEATURES: [&str; 2] = ["--features", "espalier-trainer/mpi"];

/// Installs Open MPI and libclang where a launcher or the compiler wrapper is missing.
///
/// # Errors
/// Says what to install by hand.
pub fn ensure() -> Result<()> {
    if is_installed() {
        return Ok(());
    }
    apt::ensure(&PACKAGES)
        .context("training in several processes needs an MPI library; skip it with --no-mpi")
}

/// Returns whether the launcher and the compiler wrapper start.
pub fn is_installed() -> bool {
    ["mpirun", "mpicc"]
        .into_iter()
        .all(|name| working(name).is_some())
}
