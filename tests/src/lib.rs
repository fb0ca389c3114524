//! Helpers for the tests that span packages.

pub mod alone;
pub mod browser;
pub mod methods;
pub mod object_server;
pub mod ranks;
pub mod schema;
pub mod shards;

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::OnceLock;

pub use espalier_fixtures::{models, photos, taxonomy, values};

/// Returns a command that runs the trainer: the program that `ESPALIER_TRAINER` names, otherwise
/// one that is built once in release mode.
///
/// # Panics
/// When it cannot be built.
#[must_use]
pub fn trainer_command() -> Command {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| {
        if let Some(path) = std::env::var_os("ESPALIER_TRAINER") {
            return path.into();
        }
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        let built = xtask::process::command(env!("CARGO"))
            .args([
                "build",
                "--release",
                "-p",
                "espalier-trainer",
                "--bin",
                "trainer",
                "--features",
                "cloud",
                "--message-format=json",
            ])
            .current_dir(root)
            .output()
            .unwrap_or_else(|e| panic!("cargo: {e}"));
        assert!(
            built.status.success(),
            "{}",
            String::from_utf8_lossy(&built.stderr)
        );
        let text = String::from_utf8_lossy(&built.stdout);
        // The last build message with an executable names the program.
        let path = text.lines().rev().find_map(|line| {
            let rest = line.split_once("\"executable\":\"")?.1;
            rest.split_once('"').map(|(path, _)| PathBuf::from(path))
        });
        path.unwrap_or_else(|| panic!("expected an executable from cargo, found none"))
    });
    Command::new(program)
}

/// Runs a command to its end; returns its exit code and its two outputs.
///
/// # Panics
/// When it cannot be started.
#[must_use]
pub fn outcome(command: &mut Command) -> (Option<i32>, String, String) {
    let output = command
        .output()
        .unwrap_or_else(|e| panic!("{}: {e}", command.get_program().display()));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

/// Runs the trainer to its end.
///
/// # Panics
/// When it cannot be started.
#[must_use]
pub fn trainer(args: &[&str]) -> Output {
    trainer_command()
        .args(args)
        .output()
        .unwrap_or_else(|e| panic!("trainer: {e}"))
}
