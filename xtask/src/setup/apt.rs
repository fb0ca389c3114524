//! Debian and Ubuntu packages: installed as root or through sudo; otherwise the error lists what to
//! install by hand.

use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};

use crate::phases;
use crate::process::{capture, command, on_path, run, succeeds};

/// Installs the missing ones of `packages`. Silent if none is missing.
///
/// # Errors
/// The error names the packages and why they could not be installed.
pub fn ensure(packages: &[&str]) -> Result<()> {
    let missing: Vec<&str> = packages.iter().copied().filter(|p| !installed(p)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let name = format!("installing {}", missing.join(" "));
    phases::run(&name, "1 minute", || install(&missing)).with_context(|| {
        format!(
            "install by hand: {} (Debian's names), then run this again",
            missing.join(" ")
        )
    })
}

/// Returns a command that runs as root.
///
/// # Errors
/// Fails if the user is not root and there is no sudo.
pub fn as_root(program: &str) -> Result<Command> {
    if capture(command("id").arg("-u"))?.trim() == "0" {
        return Ok(command(program));
    }
    if on_path("sudo").is_none() {
        bail!("this needs root's rights, and there is no sudo");
    }
    let mut sudo = command("sudo");
    // Passed on by name because sudo clears the environment.
    sudo.args(["env", "DEBIAN_FRONTEND=noninteractive", program]);
    Ok(sudo)
}

fn installed(package: &str) -> bool {
    capture(command("dpkg-query").args(["-W", "-f=${db:Status-Status}", package]))
        .is_ok_and(|status| status == "installed")
}

fn install(packages: &[&str]) -> Result<()> {
    if on_path("apt-get").is_none() {
        bail!("this system has no apt-get");
    }
    update_once()?;
    run(as_root("apt-get")?
        .env("DEBIAN_FRONTEND", "noninteractive")
        .args(["install", "-y", "-qq", "--no-install-recommends"])
        .args(packages))
}

/// Fetches the package lists once per run. A failed update is only reported: the present lists may
/// suffice.
fn update_once() -> Result<()> {
    static DONE: OnceLock<()> = OnceLock::new();
    if DONE.set(()).is_ok() && !succeeds(as_root("apt-get")?.args(["update", "-qq"])) {
        eprintln!("`apt-get update` failed; going on with the package lists at hand");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_that_does_not_exist_is_not_installed() {
        assert!(!installed("no-such-package-of-espalier"));
    }

    #[test]
    fn nothing_is_done_for_an_empty_list() {
        ensure(&[]).unwrap();
    }
}
