//! Installs what is missing on a fresh machine, and nothing else.
//!
//! Every installer checks first; if nothing is missing it is quick and silent. Other versions of
//! programs that the user has are never replaced: ours then go to a separate folder.

pub mod apt;
pub mod axe;
pub mod browser;
pub mod cargo_tool;
pub mod debian_wasm;
pub mod firefox;
pub mod lockfile;
pub mod mpi;
pub mod npm;
pub mod target;
pub mod typescript;
pub mod venv;
pub mod wasm_opt;
pub mod wasm_target;

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::process::{command, prepend};
use cargo_tool::CargoTool;

/// Everything that a build for the browser needs, found or installed.
#[derive(Clone, Debug)]
pub struct WasmTools {
    /// Toolchain that can link for wasm32, if it is not the active one.
    pub toolchain: Option<String>,
    /// Search path on which trunk, wasm-bindgen and wasm-opt have the required versions.
    pub path: OsString,
}

impl WasmTools {
    /// Returns a command that uses these tools and this toolchain.
    ///
    /// `RUSTFLAGS` would replace the wasm flags of `.cargo/config.toml`, `CARGO` would name the
    /// native toolchain's cargo, and trunk rejects the usual values of `NO_COLOR`.
    pub fn command(&self, program: &str) -> Command {
        let mut cmd = command(program);
        cmd.env("PATH", &self.path);
        for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO", "NO_COLOR"] {
            cmd.env_remove(name);
        }
        if let Some(toolchain) = &self.toolchain {
            cmd.env("RUSTUP_TOOLCHAIN", toolchain);
        }
        cmd
    }
}

/// Returns the wasm32 target, wasm-bindgen, trunk and wasm-opt.
///
/// # Errors
/// The error says what could not be installed and how to install it by hand.
pub fn wasm(root: &Path) -> Result<WasmTools> {
    let toolchain = wasm_target::ensure(root)?;
    let bindgen = CargoTool::wasm_bindgen(&lockfile::version_of(root, "wasm-bindgen")?);
    let programs = [
        bindgen.ensure(root)?,
        CargoTool::trunk().ensure(root)?,
        wasm_opt::ensure()?,
    ];
    let folders: Vec<&Path> = programs.iter().filter_map(|path| path.parent()).collect();
    let path = prepend(&folders)?;
    Ok(WasmTools { toolchain, path })
}

/// Installs the programs that check texts, licences and advisories in `ci`; `ci` skips missing
/// ones.
///
/// # Errors
/// Says what could not be installed.
pub fn checkers(root: &Path) -> Result<()> {
    for tool in [CargoTool::typos(), CargoTool::deny()] {
        tool.ensure(root)?;
    }
    Ok(())
}
