//! axe-core, which checks the accessibility of the built page during the browser tests.
//!
//! Installed from npm's registry by npm and stored in the cache folder. Its licence (MPL-2.0) is
//! that of a tool that is run, not of anything shipped.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::paths;
use crate::process::{command, on_path, run};

/// Version that the tests are written for.
const VERSION: &str = "4.10.3";

/// The file that the tests need.
const FILE: &str = "axe.min.js";

fn installed_path() -> PathBuf {
    paths::cache()
        .join(format!("axe-core-{VERSION}"))
        .join(FILE)
}

/// Returns the path of axe-core, which is fetched if missing.
///
/// # Errors
/// The error says what to install if there is no npm, or that the registry returned nothing.
pub fn ensure() -> Result<PathBuf> {
    let path = installed_path();
    if path.is_file() {
        return Ok(path);
    }
    if on_path("npm").is_none() {
        bail!(
            "npm is missing, so axe-core {VERSION} cannot be fetched: install Node.js, or \
             put {FILE} at {}",
            path.display()
        );
    }
    let folder = tempfile::tempdir()?;
    run(command("npm")
        .args(["pack", "--silent", &format!("axe-core@{VERSION}")])
        .current_dir(folder.path()))
    .context("npm did not fetch axe-core")?;
    unpack(folder.path(), &path)?;
    Ok(path)
}

/// Extracts the one file from the package.
fn unpack(folder: &Path, path: &Path) -> Result<()> {
    run(command("tar")
        .arg("xzf")
        .arg(folder.join(format!("axe-core-{VERSION}.tgz")))
        .arg(format!("package/{FILE}"))
        .current_dir(folder))
    .context("the package of axe-core cannot be unpacked")?;
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::copy(folder.join("package").join(FILE), path)
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_extracted_from_the_package() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("package")).unwrap();
        std::fs::write(folder.path().join("package").join(FILE), "axe").unwrap();
        let name = format!("axe-core-{VERSION}.tgz");
        run(command("tar")
            .args(["czf", &name, "package"])
            .current_dir(folder.path()))
        .unwrap();
        let path = folder.path().join("cache/deep").join(FILE);
        unpack(folder.path(), &path).unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), "axe");
    }

    #[test]
    fn a_package_without_the_file_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let error = unpack(folder.path(), &folder.path().join("x")).unwrap_err();
        assert!(error.to_string().contains("axe-core"), "{error}");
    }
}
