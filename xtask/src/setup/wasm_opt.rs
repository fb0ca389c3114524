//! `wasm-opt` of Binaryen, which makes the built programs smaller.

use std::path::PathBuf;

use anyhow::{Context, Result};

use super::apt;
use crate::process::working;

/// Returns the `wasm-opt` on the search path; installs Debian's `binaryen` if there is none.
///
/// # Errors
/// Says what to install by hand.
pub fn ensure() -> Result<PathBuf> {
    let find = || working("wasm-opt");
    if let Some(program) = find() {
        return Ok(program);
    }
    apt::ensure(&["binaryen"]).context(
        "wasm-opt is missing (also in https://github.com/WebAssembly/binaryen/releases)",
    )?;
    find().context("wasm-opt does not start although binaryen is installed")
}
