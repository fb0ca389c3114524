//! The archive of the program: it unpacks to a folder that can be merged with `/usr/local` or
//! `~/.local`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::archive::{self, Archive};
use super::licences;
use super::version::VERSION;
use crate::paths;
use crate::process::{capture, command, run};
use crate::setup::target::host;

/// The names of the program; the first one is built, and the other one is a link to it where links
/// exist.
const NAMES: [&str; 2] = ["espalier", "trainer"];

/// Where each shell looks for completions below a prefix; `NAME` stands for the program.
const SHELLS: [(&str, &str); 5] = [
    ("bash", "share/bash-completion/completions/NAME"),
    ("elvish", "share/elvish/lib/NAME.elv"),
    ("fish", "share/fish/vendor_completions.d/NAME.fish"),
    ("powershell", "share/powershell/NAME.ps1"),
    ("zsh", "share/zsh/site-functions/_NAME"),
];

/// Builds the program and packs it with completions, manual pages, licences and documents; returns the
/// path of the archive.
///
/// # Errors
/// Fails if the program cannot be built or started, or the archive cannot be written.
pub fn pack(root: &Path, features: &[String], out: &Path) -> Result<PathBuf> {
    build(root, features)?;
    let host = host(root)?;
    let folder = format!("espalier-{VERSION}-{host}");
    let mut archive = Archive::new(&folder);
    for name in NAMES {
        let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        let program = paths::release(root).join(&file);
        if name == NAMES[0] || cfg!(windows) {
            archive.add_program(&format!("bin/{file}"), &program)?;
        } else {
            archive.add_link(&format!("bin/{file}"), NAMES[0]);
        }
        for (shell, place) in SHELLS {
            let script = capture(command(&program).args(["completions", shell]))?;
            archive.add(&place.replace("NAME", name), script);
        }
        let pages = tempfile::tempdir().context("cannot make a temporary folder")?;
        capture(command(&program).args(["man", "--out"]).arg(pages.path()))?;
        archive.add_folder("share/man/man1/", pages.path())?;
    }
    let documents = "share/doc/espalier/";
    for name in ["README.md", "CHANGELOG.md"] {
        archive.add(
            &format!("{documents}{name}"),
            std::fs::read(root.join(name))?,
        );
    }
    let features = features.join(",");
    let selection = ["-p", "espalier-trainer", "--features", &features];
    for (name, text) in licences::files(root, &selection, &host)? {
        archive.add(&format!("{documents}{name}"), text);
    }
    let path = out.join(format!("{folder}.tar.gz"));
    archive.write(&path, archive::time(root))?;
    Ok(path)
}

fn build(root: &Path, features: &[String]) -> Result<()> {
    let mut cargo = command("cargo");
    cargo
        .args(["build", "--release", "--locked", "-p", "espalier-trainer"])
        .args(["--bins", "--features", &features.join(",")]);
    run(cargo.current_dir(root))
}
