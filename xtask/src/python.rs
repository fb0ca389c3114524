//! `cargo xtask python`: the wheel of the Python package `espalier`, and its tests.
//!
//! The wheel is built with the features of the workspace, and for the tests in their profile, so that nothing is
//! compiled again but what only Python needs; see `python/Cargo.toml`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context, Result};
use clap::Args;

use crate::harness::{TRAINER, run_harness};
use crate::process::{command, prepend, run as execute};
use crate::setup::venv;
use crate::totals::Totals;
use crate::{files, paths};

/// Lists of packages, `python/requirements-*.txt`: of the build and of the tests.
const LISTS: [&str; 2] = ["build", "test"];

/// Options of `cargo xtask python`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Also install the wheel in an environment of its own and run pytest with the notebook
    #[arg(long)]
    pub test: bool,
    /// Folder for the wheel; default: `wheels` below cargo's target folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Builds the wheel, prints its path, and runs its tests if asked for. Returns the totals of the tests.
///
/// # Errors
/// If the wheel or the program `trainer`, with which it is compared, cannot be built.
pub fn run(root: &Path, options: &Options) -> Result<Totals> {
    let out = options.out.clone();
    let wheel = wheel(root, "release", &out.unwrap_or_else(|| folder(root)))?;
    println!("{}", wheel.display());
    if !options.test {
        return Ok(Totals::default());
    }
    // With the features of the wheel, whose library it shares.
    let mut trainer = command("cargo");
    trainer.args(["build", "--release", "--bin", "trainer"]);
    trainer.args(["-p", "espalier-trainer", "-p", "espalier-python"]);
    execute(trainer.current_dir(root))?;
    test(root, &wheel, &paths::release(root))
}

/// Installs what the wheel and its tests need: two environments of Python.
///
/// # Errors
/// If there is no Python, or a package cannot be installed.
pub fn ensure(root: &Path) -> Result<()> {
    for list in LISTS {
        environment(root, list)?;
    }
    Ok(())
}

/// Returns the folder of wheels that are built for tests.
pub fn folder(root: &Path) -> PathBuf {
    paths::target(root).join("wheels")
}

/// Builds the wheel in a profile of cargo into `out` and returns its path.
///
/// # Errors
/// If maturin cannot be installed from PyPI, or the build fails.
pub fn wheel(root: &Path, profile: &str, out: &Path) -> Result<PathBuf> {
    let start = SystemTime::now();
    let python = environment(root, "build")?;
    let mut maturin = with_programs_of(&python)?;
    maturin
        .args(["-m", "maturin", "build", "--profile", profile])
        .args(["--locked", "--manifest-path"])
        .arg(root.join("python/Cargo.toml"))
        .arg("--interpreter")
        .arg(&python)
        .arg("--out")
        .arg(out);
    execute(maturin.current_dir(root)).context("the wheel of python/ cannot be built")?;
    newest_wheel(out, start)
}

/// Returns the Python of the environment of a list of packages, `python/requirements-*.txt`.
fn environment(root: &Path, list: &str) -> Result<PathBuf> {
    let file = root.join(format!("python/requirements-{list}.txt"));
    venv::ensure(&format!("python-{list}"), &venv::listed(&file)?)
}

/// Returns a command of an environment's Python, which also finds the programs of its packages.
fn with_programs_of(python: &Path) -> Result<Command> {
    let folder = python.parent().unwrap_or(python);
    let mut command = command(python);
    command.env("PATH", prepend(&[folder])?);
    Ok(command)
}

/// Returns the wheel of a folder that was written last, after `start`.
fn newest_wheel(folder: &Path, start: SystemTime) -> Result<PathBuf> {
    let mut wheels = Vec::new();
    for path in files::entries(folder)? {
        if path.extension().is_some_and(|extension| extension == "whl") {
            wheels.push((std::fs::metadata(&path)?.modified()?, path));
        }
    }
    let newest = wheels.into_iter().max();
    let newest = newest.filter(|(written, _)| *written >= start);
    newest
        .map(|(_, path)| path)
        .with_context(|| format!("maturin wrote no wheel to {}", folder.display()))
}

/// Installs a wheel in the environment of the tests and runs them, with the `trainer` of a folder.
///
/// # Errors
/// If the packages of the tests cannot be installed. Failing tests are counted.
pub fn test(root: &Path, wheel: &Path, programs: &Path) -> Result<Totals> {
    let python = environment(root, "test")?;
    let pip = |arguments: &[&str]| {
        let mut pip = command(&python);
        pip.args(["-m", "pip", "--disable-pip-version-check"]);
        pip.args(arguments);
        pip
    };
    let install = ["install", "--quiet", "--force-reinstall", "--no-deps"];
    execute(pip(&install).arg(wheel))?;
    // What the wheel needs is there.
    execute(&mut pip(&["check"]))?;
    let mut pytest = with_programs_of(&python)?;
    pytest
        .args(["-m", "pytest", "-rs"])
        .arg(".")
        .env(TRAINER, programs.join("trainer"))
        // Bytecode of the tests would lie in the repository.
        .env("PYTHONDONTWRITEBYTECODE", "1")
        // Not in `python/`, whose folder `espalier` would be imported instead of the wheel.
        .current_dir(root.join("python/tests"));
    run_harness(&mut pytest, Totals::from_pytest)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_wheel_of_this_build_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let start = SystemTime::now() - Duration::from_secs(1);
        assert!(newest_wheel(folder.path(), start).is_err());
        let wheel = folder
            .path()
            .join("espalier-0.1.0-cp39-abi3-linux_x86_64.whl");
        std::fs::write(&wheel, "").unwrap();
        std::fs::write(folder.path().join("notes.txt"), "").unwrap();
        assert_eq!(newest_wheel(folder.path(), start).unwrap(), wheel);
        let later = SystemTime::now() + Duration::from_secs(60);
        let error = newest_wheel(folder.path(), later).unwrap_err().to_string();
        assert!(error.contains("wrote no wheel"), "{error}");
    }
}
