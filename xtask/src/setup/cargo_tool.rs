//! Programs that come from crates.io through `cargo install`, at the version that we need.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process::{candidates, capture, command, run};
use crate::{paths, phases};

/// A program from crates.io.
#[derive(Clone, Debug)]
pub struct CargoTool {
    /// Package on crates.io.
    package: &'static str,
    /// Program that it installs.
    program: &'static str,
    /// Version to install.
    version: String,
    /// How closely an installed program must match the version.
    matching: Match,
    /// Features instead of the default ones.
    features: Option<&'static str>,
    /// Level of optimisation, instead of the package's own settings with all that makes a small and
    /// fast program: these programs run for seconds and are built from source.
    opt_level: &'static str,
    /// How long the installation takes on two idle cores.
    usual: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Match {
    /// Exactly the same version.
    Exact,
    /// The same `major.minor`, and the same or a newer patch.
    Patch,
    /// Any version.
    Any,
}

impl CargoTool {
    /// Returns a program of which any version will do.
    fn any(package: &'static str, program: &'static str, version: &str) -> Self {
        Self {
            package,
            program,
            version: version.to_owned(),
            matching: Match::Any,
            features: None,
            opt_level: "1",
            usual: "2 to 5 minutes",
        }
    }

    /// wasm-bindgen's program, which must have exactly the library's version in `Cargo.lock`.
    pub fn wasm_bindgen(version: &str) -> Self {
        Self {
            matching: Match::Exact,
            usual: "1 minute",
            ..Self::any("wasm-bindgen-cli", "wasm-bindgen", version)
        }
    }

    /// Returns the bundler. Without its `update_check` feature it never looks for a newer version
    /// online.
    pub fn trunk() -> Self {
        Self {
            matching: Match::Patch,
            features: Some("rustls"),
            // It starts other programs and copies files.
            opt_level: "0",
            usual: "3 to 5 minutes",
            ..Self::any("trunk", "trunk", "0.21.14")
        }
    }

    /// Returns the spelling checker used by `ci`.
    pub fn typos() -> Self {
        Self::any("typos-cli", "typos", "^1")
    }

    /// Returns the checker of licences, sources and advisories used by `ci`.
    pub fn deny() -> Self {
        Self::any("cargo-deny", "cargo-deny", "^0.20")
    }

    /// Returns the program that changes code and runs its tests.
    pub fn mutants() -> Self {
        Self::any("cargo-mutants", "cargo-mutants", "^27")
    }

    /// Returns the WebDriver server of Firefox.
    pub fn geckodriver() -> Self {
        Self::any("geckodriver", "geckodriver", "^0.37")
    }

    /// Returns the program at the required version: found, or installed from crates.io.
    ///
    /// # Errors
    /// The error names the command that failed.
    pub fn ensure(&self, root: &Path) -> Result<PathBuf> {
        if let Some(program) = self.find() {
            return Ok(program);
        }
        let name = format!("installing {} {}", self.package, self.version);
        phases::run(&name, self.usual, || self.install(root))?;
        self.find().with_context(|| {
            format!(
                "{} was installed but {} does not start",
                self.package, self.program
            )
        })
    }

    /// Returns the program, if a matching version is installed.
    pub fn find(&self) -> Option<PathBuf> {
        let ours = [paths::cargo_bin(), separate_root().join("bin")];
        let mut found = candidates(self.program, &ours).into_iter();
        found.find(|program| {
            capture(&mut self.version_command(program)).is_ok_and(|out| self.matches(&out))
        })
    }

    /// Returns the command that prints the version. Cargo gives a subcommand its own name as the first
    /// argument, and some accept no other.
    fn version_command(&self, program: &Path) -> Command {
        let mut cmd = command(program);
        cmd.args(self.program.strip_prefix("cargo-"))
            .arg("--version");
        cmd
    }

    /// Returns whether the output of `--version` names a matching version.
    fn matches(&self, output: &str) -> bool {
        let Some(version) = output.split_whitespace().nth(1) else {
            return false;
        };
        let numbers = |version: &str| -> Option<Vec<u64>> {
            version.split('.').map(|n| n.parse().ok()).collect()
        };
        match self.matching {
            Match::Exact => version == self.version,
            Match::Patch => match (numbers(version), numbers(&self.version)) {
                (Some(a), Some(b)) => a.get(..2) == b.get(..2) && a.get(2) >= b.get(2),
                _ => false,
            },
            Match::Any => true,
        }
    }

    fn install(&self, root: &Path) -> Result<()> {
        let locked = run(self.install_command(root, true).current_dir(root));
        let Err(locked) = locked else { return Ok(()) };
        // A package's lock file can name versions that the registry no longer has or does not have
        // yet.
        eprintln!("{locked:#}; trying once more with the newest compatible dependencies");
        if let Err(free) = run(self.install_command(root, false).current_dir(root)) {
            bail!("cannot install {}: {free:#}", self.package);
        }
        Ok(())
    }

    fn install_command(&self, root: &Path, locked: bool) -> Command {
        let mut cmd = command("cargo");
        cmd.args(["install", self.package, "--version", &self.version])
            .current_dir(root);
        if locked {
            cmd.arg("--locked");
        }
        if let Some(features) = self.features {
            cmd.args(["--no-default-features", "--features", features]);
        }
        // Another version of the user's, which must stay.
        if paths::cargo_bin().join(self.program).exists() {
            cmd.arg("--root").arg(separate_root());
        }
        // A tool must not use a shared target folder or the flags for our own code.
        for name in [
            "CARGO_TARGET_DIR",
            "RUSTFLAGS",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO",
        ] {
            cmd.env_remove(name);
        }
        cmd.envs([
            ("CARGO_PROFILE_RELEASE_OPT_LEVEL", self.opt_level),
            ("CARGO_PROFILE_RELEASE_LTO", "off"),
            ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
            ("CARGO_PROFILE_RELEASE_DEBUG", "false"),
        ]);
        cmd
    }
}

/// Returns the install folder for our programs when the user has other versions of them.
fn separate_root() -> PathBuf {
    paths::cache().join("tools")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wasm_bindgen_must_match_to_the_last_digit() {
        let tool = CargoTool::wasm_bindgen("0.2.130");
        assert!(tool.matches("wasm-bindgen 0.2.130\n"));
        assert!(tool.matches("wasm-bindgen 0.2.130 (0a1b2c3d4)"));
        assert!(!tool.matches("wasm-bindgen 0.2.13") && !tool.matches("wasm-bindgen 0.2.131"));
    }

    #[test]
    fn a_trunk_of_the_same_minor_version_matches_if_it_is_new_enough() {
        let trunk = CargoTool::trunk();
        assert!(trunk.matches("trunk 0.21.14") && trunk.matches("trunk 0.21.20\n"));
        for other in [
            "trunk 0.21.9",
            "trunk 0.22.14",
            "trunk 0.21.15-beta.1",
            "trunk 0.21",
            "trunk",
        ] {
            assert!(!trunk.matches(other), "{other}");
        }
    }

    #[test]
    fn tools_are_installed_without_our_flags() {
        let cmd = CargoTool::trunk().install_command(Path::new("/"), true);
        let line = crate::process::shown(&cmd);
        assert!(line.starts_with("cargo install trunk --version 0.21.14 --locked"));
        let mut changed = cmd.get_envs();
        assert!(changed.any(|(k, v)| k == "CARGO_TARGET_DIR" && v.is_none()));
    }
}
