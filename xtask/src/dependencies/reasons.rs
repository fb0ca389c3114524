//! Why each dependency is there: `docs/dependencies.toml`.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

/// The file, relative to the root.
pub(super) const FILE: &str = "docs/dependencies.toml";

/// What is said about one dependency.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(super) struct Reason {
    /// What it is used for.
    pub why: String,
    /// Why it stays behind its newest version, if it does.
    pub held: Option<String>,
}

/// Returns the reasons by the names of the packages.
///
/// # Errors
/// Fails if the file cannot be read or has other keys.
pub(super) fn read(root: &Path) -> Result<BTreeMap<String, Reason>> {
    let text =
        std::fs::read_to_string(root.join(FILE)).with_context(|| format!("cannot read {FILE}"))?;
    toml::from_str(&text).with_context(|| format!("{FILE}: expected [NAME] with `why` and `held`"))
}
