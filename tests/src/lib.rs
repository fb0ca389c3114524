//! Helpers for the tests that span packages. Each panics where something fails, which fails the
//! test.

#![allow(clippy::unwrap_used)]

pub mod browser;
pub mod calls;
pub mod methods;
pub mod object_server;
pub mod ranks;
pub mod shards;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use espalier_core::caption::Rung;
use espalier_core::weights::Tensors;
use serde_json::Value;

pub use espalier_fixtures::{models, photos, taxonomy, values};

/// Longest time that a test waits for something that must happen.
const PATIENCE: Duration = Duration::from_secs(300);

/// Returns a command that runs the trainer: the program that `ESPALIER_TRAINER` names, otherwise
/// one that is built once in release mode.
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
        xtask::process::run(&mut cargo).unwrap();
        let file = format!("trainer{}", std::env::consts::EXE_SUFFIX);
        xtask::paths::release(&root).join(file)
    });
    Command::new(program)
}

/// Waits until something holds; `what` is the message where it never does.
#[track_caller]
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Sends a signal, such as `TERM`, to a process.
#[track_caller]
pub fn signal(process: u32, name: &str) {
    let sent = Command::new("kill")
        .args([format!("-{name}"), process.to_string()])
        .status();
    assert!(sent.unwrap().success());
}

/// Reads a file of JSON.
#[track_caller]
pub fn json_of(file: &Path) -> Value {
    let bytes = std::fs::read(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    serde_json::from_slice(&bytes).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

/// Reads a file of tensors.
#[track_caller]
pub fn tensors_of(file: &Path) -> Tensors {
    let bytes = std::fs::read(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    Tensors::read(&bytes).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

/// Returns the captions of a ladder.
pub fn texts(ladder: &[Rung]) -> Vec<&str> {
    ladder.iter().map(|rung| rung.text.as_str()).collect()
}

/// Locks a mutex, also after a panic of a test that held it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
