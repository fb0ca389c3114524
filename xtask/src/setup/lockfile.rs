//! The packages of `Cargo.lock`.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

#[derive(Deserialize)]
struct Lock {
    package: Vec<Package>,
}

/// A package that the workspace consists of or uses.
#[derive(Clone, Debug, Deserialize)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The registry; absent for packages of the workspace.
    pub source: Option<String>,
    /// Names of packages that it depends on, with the version behind where there is more than one.
    #[serde(default)]
    pub dependencies: Vec<String>,
}

/// Reads all packages.
///
/// # Errors
/// Fails if `Cargo.lock` cannot be read.
pub fn packages(root: &Path) -> Result<Vec<Package>> {
    let text =
        std::fs::read_to_string(root.join("Cargo.lock")).context("cannot read Cargo.lock")?;
    parse(&text)
}

fn parse(text: &str) -> Result<Vec<Package>> {
    let lock: Lock = toml::from_str(text).context("Cargo.lock has another format")?;
    Ok(lock.package)
}

/// Returns the locked version of a package, so that a tool can match it exactly.
///
/// # Errors
/// Fails if the lock file cannot be read, or does not list the package exactly once.
pub fn version_of(root: &Path, package: &str) -> Result<String> {
    only_version(&packages(root)?, package)
}

fn only_version(packages: &[Package], name: &str) -> Result<String> {
    let named = packages.iter().filter(|package| package.name == name);
    let versions: Vec<&str> = named.map(|package| package.version.as_str()).collect();
    match versions[..] {
        [version] => Ok(version.to_owned()),
        [] => bail!("Cargo.lock names no package `{name}`"),
        _ => bail!(
            "Cargo.lock names {} versions of `{name}` ({}): the tool can match only one",
            versions.len(),
            versions.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = r#"
version = 4
[[package]]
name = "twice"
version = "1.0.0"
[[package]]
name = "twice"
version = "2.0.0"
[[package]]
name = "wasm-bindgen"
version = "0.2.130"
source = "registry+https://example.org"
"#;

    #[test]
    fn the_locked_version_is_read_and_a_package_named_never_or_twice_is_an_error() {
        let version = |name| only_version(&parse(LOCK).unwrap(), name);
        assert_eq!(version("wasm-bindgen").unwrap(), "0.2.130");
        let never = version("absent").unwrap_err().to_string();
        assert!(never.contains("no package `absent`"), "{never}");
        let twice = version("twice").unwrap_err().to_string();
        assert!(twice.contains("1.0.0, 2.0.0"), "{twice}");
    }
}
