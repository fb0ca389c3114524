//! Small benchmarks on disk, and runs of the program on them.

use std::path::PathBuf;
use std::process::Output;

use espalier_tests::{photos, trainer};
use serde_json::Value;

/// Returns the path of the model that is evaluated.
pub fn model() -> String {
    espalier_tests::models::tiny_path()
}

/// A folder that is removed at the end of the test.
pub struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { dir }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Writes an image in one of six colourings that a model can tell apart.
    pub fn image(&self, name: &str, look: u32) {
        let mut image = photos::landscape(80 + 7 * look, 70);
        for pixel in image.pixels_mut() {
            let turn = (look % 3) as usize;
            pixel.0.rotate_left(turn);
            if look >= 3 {
                pixel.0 = pixel.0.map(|v| 255 - v);
            }
        }
        self.write(name, photos::jpeg(&image, 1));
    }
}

/// Runs `trainer eval` without a cache and with `--json`.
pub fn eval(args: &[&str]) -> Output {
    let model = model();
    let all = [
        &["eval", "--checkpoint", &model, "--json", "--no-cache"],
        args,
    ]
    .concat();
    trainer(&all)
}

/// Returns the JSON objects of a run, which must succeed.
pub fn records(output: &Output) -> Vec<Value> {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let lines = String::from_utf8(output.stdout.clone()).unwrap();
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Returns the only JSON object of a run, which must succeed.
pub fn record(output: &Output) -> Value {
    let mut all = records(output);
    assert_eq!(all.len(), 1);
    all.remove(0)
}

/// Returns the error message of a run, which must end with exit code 2 and without a panic.
pub fn refused(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    assert!(output.stdout.is_empty());
    said
}
