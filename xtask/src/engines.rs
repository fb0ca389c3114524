//! Moves the engines into a folder of their own and writes `engines.json` with its name and the
//! engine sizes, which the page shows before it fetches one.
//!
//! The folder is named by the hash of its contents. No cache mixes files of two builds, and a host
//! may allow browsers to cache them for ever.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use crate::transfer::transfer_size;
use crate::{digest, files};

/// Name of the list in the built page.
pub const FILE: &str = "engines.json";

/// Prefix of the folder's name.
pub const FOLDER: &str = "engine-";

/// The engines of a complete page.
pub const ALL: &[&str] = &[CPU, GPU];

/// The engine that every browser can run, and the one that is built first.
pub const CPU: &str = "worker_cpu";

/// The engine for WebGPU.
pub const GPU: &str = "worker_gpu";

/// The script that starts each engine, and the one that counts the bytes it sends. The page also
/// uses the counter, so a copy of that file stays in place.
const STARTER: &str = "worker.js";
const COUNTER: &str = "sent.js";

/// Moves the engines of a page just built into their folder and writes the list. The page does not try
/// an engine that the list lacks.
///
/// # Errors
/// Fails if one of `engines` is missing or the list cannot be written.
pub fn arrange(dist: &Path, engines: &[&str]) -> Result<()> {
    let mut names = vec![STARTER.to_owned(), COUNTER.to_owned()];
    for engine in engines {
        names.extend([format!("{engine}.js"), format!("{engine}_bg.wasm")]);
    }
    let mut contents = Vec::new();
    for name in &names {
        let path = dist.join(name);
        let content = fs::read(&path);
        contents.push(content.with_context(|| format!("{} was not built", path.display()))?);
    }
    let folder = format!("{FOLDER}{}", digest::short(&contents));
    remove_others(dist, &folder)?;
    fs::create_dir_all(dist.join(&folder))?;
    for name in &names {
        fs::copy(dist.join(name), dist.join(&folder).join(name))?;
        if name != COUNTER {
            fs::remove_file(dist.join(name))?;
        }
    }
    let mut list = Map::new();
    list.insert("folder".to_owned(), json!(format!("{folder}/")));
    for engine in engines {
        let program = dist.join(&folder).join(format!("{engine}_bg.wasm"));
        let size = json!({
            "bytes": fs::metadata(&program)?.len(),
            "wire": transfer_size(&program)?,
        });
        list.insert((*engine).to_owned(), size);
    }
    let text = format!("{:#}\n", Value::Object(list));
    fs::write(dist.join(FILE), text).with_context(|| format!("cannot write to {}", dist.display()))
}

/// Removes the engines of earlier builds.
fn remove_others(dist: &Path, folder: &str) -> Result<()> {
    for path in files::entries(dist)? {
        let name = files::name_from(dist, &path);
        if name.starts_with(FOLDER) && name != folder {
            fs::remove_dir_all(path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(dist: &Path, content: u8) -> Value {
        for name in ALL {
            fs::write(dist.join(format!("{name}_bg.wasm")), [content; 300]).unwrap();
            fs::write(dist.join(format!("{name}.js")), "export {}").unwrap();
        }
        fs::write(dist.join(STARTER), "start").unwrap();
        fs::write(dist.join(COUNTER), "count").unwrap();
        arrange(dist, ALL).unwrap();
        serde_json::from_slice(&fs::read(dist.join(FILE)).unwrap()).unwrap()
    }

    #[test]
    fn engines_are_listed_with_their_sizes_and_their_folder() {
        let dist = tempfile::tempdir().unwrap();
        let list = built(dist.path(), 1);
        assert_eq!(list["worker_cpu"]["bytes"], 300);
        assert_eq!(list["worker_gpu"]["bytes"], 300);
        let folder = dist.path().join(list["folder"].as_str().unwrap());
        for name in ["worker.js", "worker_cpu.js", "worker_gpu_bg.wasm"] {
            assert!(folder.join(name).is_file(), "{name}");
            assert!(!dist.path().join(name).exists(), "{name}");
        }
    }

    #[test]
    fn the_folder_is_named_after_its_content_and_replaces_that_of_the_last_build() {
        let dist = tempfile::tempdir().unwrap();
        let (first, second) = (built(dist.path(), 1), built(dist.path(), 2));
        assert_ne!(first["folder"], second["folder"]);
        assert!(!dist.path().join(first["folder"].as_str().unwrap()).exists());
        assert_eq!(built(dist.path(), 2), second);
    }

    #[test]
    fn a_page_without_the_second_engine_lists_the_first_one_alone() {
        let dist = tempfile::tempdir().unwrap();
        for name in [STARTER, COUNTER, "worker_cpu.js", "worker_cpu_bg.wasm"] {
            fs::write(dist.path().join(name), "content").unwrap();
        }
        arrange(dist.path(), &[CPU]).unwrap();
        let list = fs::read_to_string(dist.path().join(FILE)).unwrap();
        let list: Value = serde_json::from_str(&list).unwrap();
        assert_eq!(list[CPU]["bytes"], 7);
        assert_eq!(list.get(GPU), None);
    }

    #[test]
    fn a_missing_engine_is_named() {
        let dist = tempfile::tempdir().unwrap();
        let message = arrange(dist.path(), ALL).unwrap_err().to_string();
        assert!(message.contains("worker.js was not built"), "{message}");
    }
}
