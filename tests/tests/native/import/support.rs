//! Sources, imports and their results.

use std::path::{Path, PathBuf};

use espalier_core::weights::Tensors;
use espalier_tests::trainer;
use serde_json::Value;
use tempfile::TempDir;

/// Head counts: files of the MERU family do not record them, and no published one has this width.
const HEADS: [&str; 4] = ["--heads", "2", "--text-heads", "2"];

/// Sources below `golden/checkpoints`, the names of their expected outputs, and flags.
pub const SOURCES: [(&str, &str, &[&str]); 7] = [
    ("hf", "hf", &[]),
    ("hf_sharded", "hf_sharded", &[]),
    ("open_clip", "open_clip", &[]),
    ("open_clip_avg", "open_clip_avg", &[]),
    ("clip.pth", "clip", &HEADS),
    ("meru.pth", "meru", &HEADS),
    ("phyclip.pth", "phyclip", &HEADS),
];

pub fn golden(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/checkpoints");
    folder.join(name)
}

/// The outcome of a call.
pub struct Called {
    pub code: Option<i32>,
    pub out: String,
    pub said: String,
}

pub fn call(args: &[&str]) -> Called {
    let output = trainer(args);
    Called {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        said: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Imports a source to a checkpoint and returns the report.
#[track_caller]
pub fn import(source: &Path, out: &Path, flags: &[&str]) -> Value {
    let (source, out) = (source.to_string_lossy(), out.to_string_lossy());
    let mut args = vec!["import", &source, "--out", &out, "--json"];
    args.extend(flags);
    let called = call(&args);
    assert_eq!(called.code, Some(0), "{source}: {}", called.said);
    serde_json::from_str(&called.out).unwrap()
}

/// Imports one of [`SOURCES`] into a new folder; returns the folder and the checkpoint.
#[track_caller]
pub fn imported(name: &str, flags: &[&str]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("ours");
    import(&golden(name), &out, flags);
    (folder, out)
}

/// Reads the tensors of a file.
pub fn tensors(file: &Path) -> Tensors {
    Tensors::read(&std::fs::read(file).unwrap()).unwrap()
}

/// Copies a folder of [`golden`], so that a test may damage it.
pub fn copy(name: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(golden(name)).unwrap() {
        let from = entry.unwrap().path();
        std::fs::copy(&from, folder.path().join(from.file_name().unwrap())).unwrap();
    }
    folder
}
