//! The direct dependencies of the workspace, from `Cargo.lock`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;

use crate::setup::lockfile;

/// A package that a package of the workspace names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Direct {
    /// Its name.
    pub name: String,
    /// The version in use.
    pub version: String,
    /// The packages of the workspace that name it, without the prefix `espalier-`.
    pub users: Vec<String>,
}

/// Returns the direct dependencies in the order of their names, those of tests and builds included.
///
/// # Errors
/// Fails if `Cargo.lock` cannot be read.
pub(super) fn direct(root: &Path) -> Result<Vec<Direct>> {
    let packages = lockfile::packages(root)?;
    let (ours, others): (Vec<_>, Vec<_>) = packages.iter().partition(|p| p.source.is_none());
    let mut found: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for user in &ours {
        for dependency in &user.dependencies {
            let mut words = dependency.split(' ');
            let (name, version) = (words.next().unwrap_or_default(), words.next());
            let package = others
                .iter()
                .find(|p| p.name == name && version.is_none_or(|version| p.version == version));
            if let Some(package) = package {
                let short = user.name.trim_start_matches("espalier-");
                let key = (package.name.as_str(), package.version.as_str());
                found.entry(key).or_default().insert(short);
            }
        }
    }
    let direct = found.into_iter().map(|((name, version), users)| Direct {
        name: name.to_owned(),
        version: version.to_owned(),
        users: users.into_iter().map(str::to_owned).collect(),
    });
    Ok(direct.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_one_that_the_workspace_uses() {
        let lock = "version = 4\n\
            [[package]]\nname = \"espalier-core\"\nversion = \"0.1.0\"\ndependencies = [\"zip 9.0.0\"]\n\
            [[package]]\nname = \"xtask\"\nversion = \"0.1.0\"\ndependencies = [\"espalier-core\", \"tar\", \"zip 9.0.0\"]\n\
            [[package]]\nname = \"zip\"\nversion = \"0.6.6\"\nsource = \"r\"\n\
            [[package]]\nname = \"zip\"\nversion = \"9.0.0\"\nsource = \"r\"\ndependencies = [\"deep\"]\n\
            [[package]]\nname = \"deep\"\nversion = \"1.0.0\"\nsource = \"r\"\n\
            [[package]]\nname = \"tar\"\nversion = \"0.4.1\"\nsource = \"r\"\n";
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("Cargo.lock"), lock).unwrap();
        let direct: Vec<String> = direct(dir.path())
            .unwrap()
            .into_iter()
            .map(|d| format!("{} {}: {}", d.name, d.version, d.users.join(" ")))
            .collect();
        assert_eq!(direct, ["tar 0.4.1: xtask", "zip 9.0.0: core xtask"]);
    }
}
