//! Paths of the repository, the built page, and the cache folder that outlives a clone.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Returns the root of the repository: the nearest ancestor folder whose `Cargo.toml` has a
/// `[workspace]`.
///
/// # Errors
/// Fails outside of the repository.
pub fn root() -> Result<PathBuf> {
    // Set by `cargo run`; the binary itself contains no path of the machine it was built on.
    let start = match std::env::var_os("CARGO_MANIFEST_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => std::env::current_dir().context("cannot read the current folder")?,
    };
    find_root(&start).with_context(|| {
        format!(
            "{} is not inside the repository: no Cargo.toml with [workspace] above it",
            start.display()
        )
    })
}

fn find_root(start: &Path) -> Option<PathBuf> {
    start
        .ancestors()
        .find(|folder| {
            std::fs::read_to_string(folder.join("Cargo.toml"))
                .is_ok_and(|text| text.lines().any(|line| line.trim() == "[workspace]"))
        })
        .map(Path::to_path_buf)
}

/// Returns the folder into which the page is built.
pub fn dist(root: &Path) -> PathBuf {
    root.join("dist")
}

/// Returns the folder in which cargo puts what it builds.
pub fn target(root: &Path) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    root.join(target.unwrap_or_else(|| "target".into()))
}

/// The profile of the tests and of xtask itself.
pub const QUICK: [&str; 2] = ["--profile", "quick"];

/// Returns the folder in which cargo puts programs of the profile [`QUICK`].
pub fn quick(root: &Path) -> PathBuf {
    target(root).join(QUICK[1])
}

/// Returns the folder in which cargo puts optimised programs.
pub fn release(root: &Path) -> PathBuf {
    target(root).join("release")
}

/// Returns the cache folder, which outlives a clone: `$XDG_CACHE_HOME/espalier` or
/// `~/.cache/espalier`.
pub fn cache() -> PathBuf {
    std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute())
        .or_else(|| std::env::home_dir().map(|home| home.join(".cache")))
        .unwrap_or_else(std::env::temp_dir)
        .join("espalier")
}

/// Returns the folder in which `cargo install` puts programs by default.
pub fn cargo_bin() -> PathBuf {
    let root = std::env::var_os("CARGO_INSTALL_ROOT").or_else(|| std::env::var_os("CARGO_HOME"));
    root.map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".cargo")))
        .unwrap_or_default()
        .join("bin")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_found_from_a_member_folder() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("member/src");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::write(dir.path().join("member/Cargo.toml"), "[package]\n").unwrap();
        std::fs::write(dir.path().join("Cargo.toml"), "[workspace]\nmembers = []\n").unwrap();
        assert_eq!(find_root(&deep).unwrap(), dir.path());
    }

    #[test]
    fn outside_of_a_repository_there_is_no_root() {
        assert_eq!(find_root(tempfile::tempdir().unwrap().path()), None);
    }
}
