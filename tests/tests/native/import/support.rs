//! Sources, imports and their results.

use std::path::{Path, PathBuf};

use espalier_tests::calls::{Call, call};
use tempfile::TempDir;

/// Head counts: files of the MERU family do not record them, and no published one has this width.
pub const HEADS: &str = "--heads 2 --text-heads 2";

/// Sources below `golden/checkpoints`, and flags.
pub const SOURCES: [(&str, &str); 7] = [
    ("hf", ""),
    ("hf_sharded", ""),
    ("open_clip", ""),
    ("open_clip_avg", ""),
    ("clip.pth", HEADS),
    ("meru.pth", HEADS),
    ("phyclip.pth", HEADS),
];

pub fn golden(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/checkpoints");
    folder.join(name)
}

/// Returns the call that imports a source to a checkpoint.
pub fn import(source: &Path, out: &Path) -> Call {
    call("import").arg(source).set("--out", out)
}

/// Imports one of [`SOURCES`] into a new folder; returns the folder and the checkpoint.
#[track_caller]
pub fn imported(name: &str, flags: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("ours");
    import(&golden(name), &out).with(flags).done();
    (folder, out)
}

/// Copies a folder of [`golden`], so that a test may damage it.
pub fn copy(name: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    xtask::files::copy_folder(&golden(name), folder.path()).unwrap();
    folder
}
