//! The version of a package in `Cargo.lock`, so that a tool can match it exactly.

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::process::{capture, command};

/// Returns the locked version of `package`; writes `Cargo.lock` first if there is none.
///
/// # Errors
/// Fails if the lock file cannot be written or read, or does not list `package` exactly once.
pub fn version_of(root: &Path, package: &str) -> Result<String> {
    let file = root.join("Cargo.lock");
    if !file.exists() {
        capture(command("cargo").arg("generate-lockfile").current_dir(root))?;
    }
    let text = std::fs::read_to_string(&file)
        .with_context(|| format!("cannot read {}", file.display()))?;
    parse(&text, package)
}

fn parse(text: &str, package: &str) -> Result<String> {
    let lock: toml::Table = text.parse().context("Cargo.lock is not valid TOML")?;
    let packages = lock
        .get("package")
        .and_then(toml::Value::as_array)
        .map_or(&[][..], |p| p);
    let versions: Vec<&str> = packages
        .iter()
        .filter(|p| p.get("name").and_then(toml::Value::as_str) == Some(package))
        .filter_map(|p| p.get("version").and_then(toml::Value::as_str))
        .collect();
    match versions[..] {
        [version] => Ok(version.to_owned()),
        [] => bail!("Cargo.lock names no package `{package}`"),
        _ => bail!(
            "Cargo.lock names {} versions of `{package}` ({}): the tool can match only one",
            versions.len(),
            versions.join(", ")
        ),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
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
    fn the_locked_version_is_read() {
        assert_eq!(parse(LOCK, "wasm-bindgen").unwrap(), "0.2.130");
    }

    #[test]
    fn a_package_named_never_or_twice_is_an_error() {
        let never = parse(LOCK, "absent").unwrap_err().to_string();
        assert!(never.contains("no package `absent`"), "{never}");
        let twice = parse(LOCK, "twice").unwrap_err().to_string();
        assert!(twice.contains("1.0.0, 2.0.0"), "{twice}");
    }
}
