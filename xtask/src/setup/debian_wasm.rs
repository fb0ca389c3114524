//! The fallback where rustup's server cannot be reached: Debian's Rust for the web.
//!
//! Debian packages a newer compiler (`rustc-web`), its cargo and the library sources with all
//! their dependencies, but no built library for [`TARGET`]. We link the compiler as a toolchain of
//! rustup, build `std` once from those sources without any network, and put the result where the
//! compiler looks for it. From then on it builds for the browser like any other toolchain.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::apt;
use super::target::TARGET;
use crate::process::{capture, command, on_path, run, succeeds};
use crate::{files, phases};

/// Name under which rustup knows Debian's compiler.
pub const TOOLCHAIN: &str = "debian-wasm";

const PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "lld-22"];

/// Path of Debian's compiler.
const PREFIX: &str = "/usr";

const MANIFEST: &str = r#"[package]
name = "std-for-the-web"
version = "0.0.0"
edition = "2021"

[profile.release]
panic = "abort"
codegen-units = 1

[workspace]
"#;

/// Installs the packages, links the toolchain and builds its `std`.
///
/// # Errors
/// The error names the step that failed; packages that cannot be installed are listed for manual
/// installation.
pub fn install() -> Result<()> {
    apt::ensure(&PACKAGES)?;
    link_the_linker()?;
    link_toolchain()?;
    phases::run("building Rust's std for the web", "2 minutes", || {
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        let libraries = build_std(folder.path())?;
        install_std(&libraries)
    })
}

/// Creates the name `rust-lld`, under which the compiler calls its linker; Debian's name has a
/// version.
fn link_the_linker() -> Result<()> {
    if on_path("rust-lld").is_some() {
        return Ok(());
    }
    let link = ["-sfn", "/usr/bin/lld-22", "/usr/local/bin/rust-lld"];
    run(apt::as_root("ln")?.args(link)).context("rust-lld must be on the PATH")
}

fn link_toolchain() -> Result<()> {
    if succeeds(
        command("rustc")
            .arg("-V")
            .env("RUSTUP_TOOLCHAIN", TOOLCHAIN),
    ) {
        return Ok(());
    }
    run(command("rustup").args(["toolchain", "link", TOOLCHAIN, PREFIX]))
}

/// Builds `std` in `folder` and returns its libraries.
fn build_std(folder: &Path) -> Result<Vec<PathBuf>> {
    std::fs::create_dir_all(folder.join("src"))?;
    std::fs::create_dir_all(folder.join(".cargo"))?;
    std::fs::write(folder.join("src/lib.rs"), "#![no_std]\n")?;
    std::fs::write(folder.join("Cargo.toml"), MANIFEST)?;
    let config = folder.join(".cargo/config.toml");
    std::fs::write(&config, vendor_config(&vendor_folder()?))?;
    if let Err(offline) = cargo_build_std(folder, true) {
        eprintln!("std does not build from the packaged sources alone ({offline:#})");
        std::fs::remove_file(&config)?;
        cargo_build_std(folder, false)?;
    }
    let built = folder.join("target").join(TARGET).join("release/deps");
    let libraries = libraries_in(&built)?;
    if libraries.is_empty() {
        bail!("building std left no library in {}", built.display());
    }
    Ok(libraries)
}

/// Returns the packaged sources of the dependencies of `std`; the folder name contains the
/// compiler's version.
fn vendor_folder() -> Result<PathBuf> {
    let output = capture(command(Path::new(PREFIX).join("bin/rustc")).arg("-V"))?;
    let version = output
        .split_whitespace()
        .nth(1)
        .context("`rustc -V` names no version")?;
    Ok(PathBuf::from(format!(
        "{PREFIX}/src/rustc-{version}/library/vendor"
    )))
}

fn vendor_config(folder: &Path) -> String {
    format!(
        "[source.crates-io]\nreplace-with = \"packaged\"\n\n[source.packaged]\ndirectory = {:?}\n",
        folder.display().to_string()
    )
}

fn cargo_build_std(folder: &Path, offline: bool) -> Result<()> {
    let mut cargo = command("cargo");
    cargo
        .current_dir(folder)
        .args(["build", "--quiet", "--release", "--target", TARGET])
        .arg("-Zbuild-std=std,panic_abort,test")
        .env("RUSTUP_TOOLCHAIN", TOOLCHAIN)
        // `build-std` is not stable yet; the variable allows it in this one build.
        .env("RUSTC_BOOTSTRAP", "1")
        // Bitcode lets the release profile optimise across `std`.
        .env("RUSTFLAGS", "-Cembed-bitcode=yes")
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("CARGO");
    if offline {
        cargo.arg("--offline");
    }
    run(&mut cargo)
}

/// Returns the built libraries, without the empty crate that only depends on them.
fn libraries_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut libraries = files::below(folder)?;
    libraries.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".rlib") && !name.starts_with("libstd_for_the_web")
    });
    Ok(libraries)
}

/// Puts the libraries into the compiler's own folder for the target.
fn install_std(libraries: &[PathBuf]) -> Result<()> {
    let folder = Path::new(PREFIX)
        .join("lib/rustlib")
        .join(TARGET)
        .join("lib");
    // Removes libraries of an older compiler, which would make `std` ambiguous.
    run(apt::as_root("rm")?.arg("-rf").arg(&folder))?;
    run(apt::as_root("mkdir")?.arg("-p").arg(&folder))?;
    run(apt::as_root("cp")?.args(libraries).arg(&folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_replaces_the_registry_by_the_packaged_sources() {
        let table: toml::Table = vendor_config(Path::new("/usr/src/a b/vendor"))
            .parse()
            .unwrap();
        let source = &table["source"];
        assert_eq!(
            source["crates-io"]["replace-with"].as_str(),
            Some("packaged")
        );
        assert_eq!(
            source["packaged"]["directory"].as_str(),
            Some("/usr/src/a b/vendor")
        );
    }

    #[test]
    fn libraries_are_listed_without_the_empty_crate() {
        let dir = tempfile::tempdir().unwrap();
        for name in [
            "libstd-1.rlib",
            "libcore-2.rlib",
            "libstd_for_the_web-3.rlib",
            "std.d",
        ] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        let names: Vec<_> = libraries_in(dir.path())
            .unwrap()
            .iter()
            .map(|p| p.file_name().unwrap().to_owned())
            .collect();
        assert_eq!(names, ["libcore-2.rlib", "libstd-1.rlib"]);
    }
}
