//! The wasm32 target: the active toolchain's own, rustup's, or Debian's.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::debian_wasm;
use super::target::TARGET;
use crate::process::{capture, command, run_within};

/// Time limit for rustup: a server that does not answer must not delay the fallback.
const RUSTUP_LIMIT: Duration = Duration::from_secs(180);

/// The probe formats a number, so that it needs `std` and an allocator, not only `core`.
const PROBE: &str = r#"
#[unsafe(no_mangle)]
pub extern "C" fn digits(n: u32) -> usize { format!("{n}").len() }
"#;

/// Ensures that a toolchain compiles and links for wasm32, and returns its name if it is not the
/// active one: that one if it can, after `rustup target add` if that works, else Debian's.
///
/// # Errors
/// The error explains why neither rustup's nor Debian's target can be used.
pub fn ensure(root: &Path) -> Result<Option<String>> {
    if probe(root, None).is_ok() {
        return Ok(None);
    }
    // An existing fallback from an earlier run avoids the wait for rustup's server.
    let probe_debian = || probe(root, Some(debian_wasm::TOOLCHAIN));
    if probe_debian().is_err() {
        match add_with_rustup(root) {
            Ok(()) => return Ok(None),
            Err(why) => eprintln!("rustup has no {TARGET} for us: {why:#}"),
        }
        let installed = debian_wasm::install().and_then(|()| probe_debian());
        installed.with_context(|| {
            format!(
                "no toolchain here builds for {TARGET}; where rustup's server can be reached, \
                 `rustup target add {TARGET}` is all that is needed"
            )
        })?;
    }
    Ok(Some(debian_wasm::TOOLCHAIN.to_owned()))
}

fn add_with_rustup(root: &Path) -> Result<()> {
    let mut add = command("rustup");
    run_within(
        add.args(["target", "add", TARGET]).current_dir(root),
        RUSTUP_LIMIT,
    )?;
    probe(root, None)
}

/// Compiles and links a tiny library with `std`: the only proof that a target is complete.
fn probe(root: &Path, toolchain: Option<&str>) -> Result<()> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let source = folder.path().join("probe.rs");
    std::fs::write(&source, PROBE)?;
    let mut rustc = command("rustc");
    rustc
        // Runs in the repository, so that its rust-toolchain.toml selects the active toolchain.
        .current_dir(root)
        .args(["--edition", "2024", "--crate-type", "cdylib"])
        .args(["--target", TARGET, "-O", "-o"])
        .arg(folder.path().join("probe.wasm"))
        .arg(&source);
    if let Some(toolchain) = toolchain {
        rustc.env("RUSTUP_TOOLCHAIN", toolchain);
    }
    capture(&mut rustc)?;
    let bytes = std::fs::read(folder.path().join("probe.wasm"))?;
    if !bytes.starts_with(b"\0asm") {
        bail!("the compiler's output for {TARGET} is not a wasm program");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toolchain_that_does_not_exist_fails_the_probe() {
        let root = crate::paths::root().unwrap();
        assert!(probe(&root, Some("no-such-toolchain")).is_err());
    }
}
