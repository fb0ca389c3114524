//! `engines.json`: sizes of the page's engines, told to a visitor before one is fetched.
//!
//! Engines keep their plain names, since the page starts them by name. Their version becomes part
//! of the address that it asks for, so that no cache mixes the files of two builds.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

/// Name of the list in the built page.
pub const FILE: &str = "engines.json";

/// The programs that it lists.
const ENGINES: [&str; 2] = ["worker_cpu", "worker_gpu"];

/// Writes the list of the engines that lie in `dist`.
///
/// # Errors
/// Fails where an engine is missing or the list cannot be written.
pub fn write(dist: &Path) -> Result<()> {
    let mut list = Map::new();
    for name in ENGINES {
        let path = dist.join(format!("{name}_bg.wasm"));
        let program = std::fs::read(&path)
            .with_context(|| format!("the engine {} was not built", path.display()))?;
        let script = std::fs::read(dist.join(format!("{name}.js")))?;
        let mut version = DefaultHasher::new();
        (&program, &script).hash(&mut version);
        list.insert(
            name.to_owned(),
            json!({ "bytes": program.len(), "version": format!("{:016x}", version.finish()) }),
        );
    }
    let text = format!("{:#}\n", Value::Object(list));
    std::fs::write(dist.join(FILE), text)
        .with_context(|| format!("cannot write to {}", dist.display()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(dist: &Path) -> Value {
        serde_json::from_slice(&std::fs::read(dist.join(FILE)).unwrap()).unwrap()
    }

    #[test]
    fn each_engine_is_listed_with_its_size_and_a_version_that_follows_its_content() {
        let dist = tempfile::tempdir().unwrap();
        for name in ENGINES {
            std::fs::write(dist.path().join(format!("{name}_bg.wasm")), [1; 300]).unwrap();
            std::fs::write(dist.path().join(format!("{name}.js")), "export {}").unwrap();
        }
        write(dist.path()).unwrap();
        let first = read(dist.path());
        assert_eq!(first["worker_cpu"]["bytes"], 300);
        assert_eq!(first["worker_gpu"]["bytes"], 300);

        std::fs::write(dist.path().join("worker_cpu_bg.wasm"), [2; 300]).unwrap();
        write(dist.path()).unwrap();
        let second = read(dist.path());
        assert_ne!(
            first["worker_cpu"]["version"],
            second["worker_cpu"]["version"]
        );
        assert_eq!(first["worker_gpu"], second["worker_gpu"]);
    }

    #[test]
    fn a_missing_engine_is_named() {
        let dist = tempfile::tempdir().unwrap();
        let message = write(dist.path()).unwrap_err().to_string();
        assert!(message.contains("worker_cpu_bg.wasm"), "{message}");
    }
}
