//! Location of files that outlive a run.

use std::path::PathBuf;

/// Returns the folder `espalier/<name>` in the user's cache folder, for files that outlive a run.
pub fn cache_folder(name: &str) -> PathBuf {
    std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute())
        .or_else(|| std::env::home_dir().map(|home| home.join(".cache")))
        .unwrap_or_else(std::env::temp_dir)
        .join("espalier")
        .join(name)
}
