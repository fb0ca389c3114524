//! Small benchmarks on disk, and runs of the program on them.

use std::ffi::OsStr;
use std::path::PathBuf;

use espalier_tests::calls::{Call, call};
use espalier_tests::models::tiny;
use espalier_tests::photos;
use serde_json::{Value, json};

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

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Writes an image in one of six colourings that a model can tell apart.
    pub fn image(&self, name: &str, look: u32) {
        let mut image = photos::landscape(80 + 7 * look, 70);
        for pixel in image.pixels_mut() {
            pixel.0.rotate_left((look % 3) as usize);
            if look >= 3 {
                pixel.0 = pixel.0.map(|v| 255 - v);
            }
        }
        self.write(name, photos::jpeg(&image, 1));
    }

    /// Returns the call that evaluates the small model on data of this folder.
    pub fn eval(&self, words: &str, data: &str) -> Call {
        eval(tiny(), words).set("--data", self.path(data))
    }

    /// As [`eval`](Self::eval), with a cache in this folder.
    pub fn eval_with_cache(&self, words: &str, data: &str) -> Call {
        call("eval --json")
            .set("--checkpoint", tiny())
            .set("--data", self.path(data))
            .set("--cache", self.path("cache"))
            .with(words)
    }

    /// Returns the call that embeds files of this folder with the small model.
    pub fn embed(&self, kind: &str, files: &str, out: &str) -> Call {
        call("embed")
            .set("--model", tiny())
            .set(kind, self.path(files))
            .set("--out", self.path(out))
    }
}

/// Returns the call that evaluates a model without a cache and prints JSON.
pub fn eval(model: impl AsRef<OsStr>, words: &str) -> Call {
    call("eval --json --no-cache")
        .set("--checkpoint", model)
        .with(words)
}

/// Asserts that a call is refused with these words and prints nothing else; returns all that it says.
#[track_caller]
pub fn refused(call: Call, words: &[&str]) -> String {
    let ended = call.refused(words);
    assert!(ended.out.is_empty(), "{ended:?}");
    ended.said
}

/// Asserts the numbers of judged items and of classes.
#[track_caller]
pub fn judged(found: &Value, n: usize, classes: usize) {
    let counts = (&found["n"], &found["classes"]);
    assert_eq!(counts, (&json!(n), &json!(classes)), "{found}");
}

/// Asserts how many items the benchmark has, and how many of them are there.
#[track_caller]
pub fn there(found: &Value, expected: usize, there: usize) {
    let ledger = &found["ledger"];
    let counts = (&ledger["expected"], &ledger["found"]);
    assert_eq!(counts, (&json!(expected), &json!(there)), "{found}");
}

#[track_caller]
pub fn metric(found: &Value, name: &str) -> f64 {
    let value = found["metrics"][name].as_f64();
    value.unwrap_or_else(|| panic!("no {name}: {found}"))
}
