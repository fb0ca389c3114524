//! Commands of the package `espalier-lab`, which is compiled only when one of them is called.

use std::ffi::OsString;
use std::path::Path;
use std::process::{ExitCode, Stdio};

use anyhow::{Context, Result};
use clap::Command;

use crate::paths;
use crate::process::command;

/// Their names and what they do. A test of the package compares them with its command line.
pub const COMMANDS: &[(&str, &str)] = &[
    (
        "fuzz",
        "Search for inputs that break the code that reads files, texts and messages",
    ),
    (
        "agree",
        "Compare the answers of all engines and browsers to a folder of photos",
    ),
    (
        "mutants",
        "Change the code in small ways and count the changes that no test notices",
    ),
    #[cfg(unix)]
    (
        "torture",
        "Kill `trainer` at random moments, fill its disk, and check what it leaves",
    ),
    (
        "siege",
        "Give the page hundreds of photos in Chromium and Firefox, and end its engines",
    ),
    (
        "page-cost",
        "Open the page with a bundle and print what it costs in bytes, memory and time",
    ),
    (
        "scale",
        "Work out what a run in many processes costs, from measured parts",
    ),
    (
        "bench",
        "Compare training and inference on the CPU with PyTorch",
    ),
    (
        "gpu",
        "Compare training on a GPU with PyTorch, on this machine or on one that ssh reaches",
    ),
    (
        "study",
        "Train methods from the same start and compare them over several seeds",
    ),
];

/// Adds the commands to the help of a command line.
pub fn listed(cli: Command) -> Command {
    let of_lab = |(name, about): &(&'static str, &'static str)| Command::new(*name).about(*about);
    cli.subcommands(COMMANDS.iter().map(of_lab))
}

/// Returns the arguments of the lab if these call one of its commands: the same, unread, since only the lab
/// knows them. `help NAME` asks for `NAME --help`.
pub fn call(arguments: &[OsString]) -> Option<Vec<OsString>> {
    let is_of_lab = |word: &OsString| COMMANDS.iter().any(|(name, _)| word == name);
    match arguments {
        [name, ..] if is_of_lab(name) => Some(arguments.to_vec()),
        [help, name] if help == "help" && is_of_lab(name) => {
            Some(vec![name.clone(), "--help".into()])
        }
        _ => None,
    }
}

/// Builds the lab and runs it in the current folder; returns its exit code.
///
/// # Errors
/// If cargo cannot be started.
pub fn run(root: &Path, arguments: &[OsString]) -> Result<ExitCode> {
    let mut cargo = command("cargo");
    cargo
        .args(["run", "--quiet"])
        .args(paths::QUICK)
        .args(["--package", "espalier-lab"])
        .arg("--manifest-path")
        .arg(root.join("Cargo.toml"))
        .arg("--")
        .args(arguments)
        .stdin(Stdio::inherit());
    let status = cargo.status().context("cargo cannot be started")?;
    // Without a code it was ended by a signal.
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn arguments_of_the_lab_are_passed_on_as_they_are() {
        for line in [
            "bench",
            "agree -- --photos",
            "study -h --data a -- x=1",
            "page-cost --version",
        ] {
            assert_eq!(call(&words(line)), Some(words(line)));
        }
        assert_eq!(call(&words("help bench")), Some(words("bench --help")));
    }

    #[test]
    fn other_commands_are_not_of_the_lab() {
        for line in ["demo --port 1", "help demo", "--help", "bench2"] {
            assert_eq!(call(&words(line)), None);
        }
    }
}
