//! Detects whether the built page is up to date with its sources, so that a repeated command is
//! quick.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use anyhow::{Context, Result};

use crate::files;

/// Sources of the page, relative to the repository.
const SOURCES: [&str; 9] = [
    ".cargo",
    "Cargo.lock",
    "Cargo.toml",
    "NOTICES.md",
    "Trunk.toml",
    "core",
    "rust-toolchain.toml",
    "static",
    "web",
];

/// Hidden, so that neither our server nor a host of static pages serves it.
const FILE: &str = ".stamp";

/// Returns whether `dist` is the unchanged result of a build with the same sources and `settings`.
pub fn is_fresh(root: &Path, dist: &Path, settings: &str) -> bool {
    std::fs::read_to_string(dist.join(FILE))
        .is_ok_and(|stored| stamp(root, dist, settings).is_ok_and(|now| now == stored))
}

/// Records that `dist` was just built from the current sources.
///
/// # Errors
/// Fails if a file cannot be read or the stamp cannot be written.
pub fn write(root: &Path, dist: &Path, settings: &str) -> Result<()> {
    std::fs::write(dist.join(FILE), stamp(root, dist, settings)?)
        .with_context(|| format!("cannot write to {}", dist.display()))
}

/// Returns one hash of sources and settings, and one of the result. The result is included so that
/// a file deleted from `dist` triggers a rebuild.
fn stamp(root: &Path, dist: &Path, settings: &str) -> Result<String> {
    let mut sources = DefaultHasher::new();
    settings.hash(&mut sources);
    for name in SOURCES {
        add(root, &root.join(name), &mut sources)?;
    }
    let mut result = DefaultHasher::new();
    add(dist, dist, &mut result)?;
    Ok(format!(
        "{:016x} {:016x}\n",
        sources.finish(),
        result.finish()
    ))
}

/// Hashes the names and contents of `path` and everything below it.
fn add(base: &Path, path: &Path, hasher: &mut DefaultHasher) -> Result<()> {
    let files = match path.is_dir() {
        true => files::below(path)?,
        false => path.exists().then(|| path.to_owned()).into_iter().collect(),
    };
    for file in files.iter().filter(|file| !file.ends_with(FILE)) {
        file.strip_prefix(base)?.hash(hasher);
        std::fs::read(file)
            .with_context(|| format!("cannot read {}", file.display()))?
            .hash(hasher);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn project() -> (tempfile::TempDir, PathBuf) {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("web/src")).unwrap();
        std::fs::write(root.path().join("web/src/main.rs"), "fn main() {}").unwrap();
        std::fs::write(root.path().join("Cargo.toml"), "[workspace]").unwrap();
        let dist = root.path().join("dist");
        std::fs::create_dir_all(&dist).unwrap();
        std::fs::write(dist.join("index.html"), "page").unwrap();
        write(root.path(), &dist, "release").unwrap();
        (root, dist)
    }

    #[test]
    fn a_page_is_fresh_until_a_source_a_setting_or_a_result_changes() {
        let (root, dist) = project();
        let fresh = |settings| is_fresh(root.path(), &dist, settings);
        let built = || write(root.path(), &dist, "release").unwrap();
        assert!(fresh("release") && !fresh("debug"));
        let source = |name| root.path().join("web/src").join(name);
        std::fs::rename(source("main.rs"), source("lib.rs")).unwrap();
        assert!(!fresh("release"), "a source was renamed");
        built();
        std::fs::write(root.path().join("Cargo.toml"), "[workspace] ").unwrap();
        assert!(!fresh("release"), "a source was changed");
        built();
        std::fs::remove_file(dist.join("index.html")).unwrap();
        assert!(!fresh("release"), "a result was deleted");
        std::fs::remove_dir_all(&dist).unwrap();
        assert!(!fresh("release"), "nothing was built");
    }
}
