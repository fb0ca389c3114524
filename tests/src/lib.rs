//! Helpers for the tests that span packages.

pub mod alone;
pub mod browser;
pub mod calls;
pub mod methods;
pub mod object_server;
pub mod ranks;
pub mod schema;
pub mod shards;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

pub use espalier_fixtures::{models, photos, taxonomy, values};

/// Returns a command that runs the trainer: the program that `ESPALIER_TRAINER` names, otherwise
/// one that is built once in release mode.
///
/// # Panics
/// When it cannot be built.
pub fn trainer_command() -> Command {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| {
        if let Some(path) = std::env::var_os("ESPALIER_TRAINER") {
            return path.into();
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let build = "build --release -p espalier-trainer --bin trainer --features cloud";
        let mut cargo = xtask::process::command(env!("CARGO"));
        cargo.args(build.split(' ')).current_dir(&root);
        xtask::process::run(&mut cargo).unwrap_or_else(|e| panic!("{e:#}"));
        let file = format!("trainer{}", std::env::consts::EXE_SUFFIX);
        xtask::paths::release(&root).join(file)
    });
    Command::new(program)
}
