//! axe-core, which checks the accessibility of the built page during the browser tests.
//!
//! Its licence (MPL-2.0) is that of a tool that is run, not of anything shipped.

use std::path::PathBuf;

use anyhow::Result;

use super::npm::NpmPackage;

/// The file that the tests need.
const FILE: &str = "axe.min.js";

const AXE: NpmPackage = NpmPackage {
    name: "axe-core",
    version: "4.10.3",
    integrity: None,
    folder: "package",
    files: &[FILE],
};

/// Returns the path of axe-core, which is fetched if missing.
///
/// # Errors
/// As [`NpmPackage::ensure`].
pub fn ensure() -> Result<PathBuf> {
    Ok(AXE.ensure()?.join(FILE))
}
