//! Virtual environments of Python in the cache folder, one for each list of packages.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::apt;
use crate::paths;
use crate::process::{command, run, succeeds};

/// Debian's packages: Python, and the module that makes environments.
const PACKAGES: [&str; 2] = ["python3", "python3-venv"];

/// Returns the Python of an environment with these packages, which is made if it is missing. `name` is
/// the beginning of the folder's name.
///
/// # Errors
/// Says what to install if there is no Python with its module `venv`, or which package cannot be had.
pub fn ensure(name: &str, packages: &[String]) -> Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    packages.hash(&mut hasher);
    let folder = paths::cache().join(format!("{name}-{:016x}", hasher.finish()));
    let python = folder.join("bin/python");
    let complete = folder.join("complete");
    if !complete.exists() {
        make(&folder)?;
        let install = "-m pip install --quiet --disable-pip-version-check";
        run(command(&python).args(install.split(' ')).args(packages))?;
        std::fs::write(&complete, "")?;
    }
    Ok(python)
}

fn make(folder: &Path) -> Result<()> {
    let venv = || {
        let mut python = command("python3");
        python.args(["-m", "venv", "--clear"]).arg(folder);
        python
    };
    if succeeds(&mut venv()) {
        return Ok(());
    }
    apt::ensure(&PACKAGES)?;
    run(&mut venv()).context("python3 cannot make a virtual environment with its module venv")
}

/// Returns the packages that a file lists, one in a line; comments and empty lines are left out.
///
/// # Errors
/// If the file cannot be read.
pub fn listed(file: &Path) -> Result<Vec<String>> {
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let lines = text.lines().map(str::trim);
    let packages = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(packages.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_no_packages() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "# why\nnumpy==2.0\n\n  pytest==8.0\n").unwrap();
        assert_eq!(listed(file.path()).unwrap(), ["numpy==2.0", "pytest==8.0"]);
    }
}
