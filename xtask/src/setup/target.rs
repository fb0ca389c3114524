//! The compilation targets.

use std::path::Path;

use anyhow::{Context, Result};

use crate::process::{capture, command};

/// The only target that the page is built for.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// Returns the name of the system that cargo builds for without a target.
///
/// # Errors
/// Fails if the compiler does not tell it.
pub fn host(root: &Path) -> Result<String> {
    let version = capture(command("rustc").arg("-vV").current_dir(root))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("`rustc -vV` names no host")
}
