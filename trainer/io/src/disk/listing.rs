//! What is in a folder, for tests.

use std::fs;
use std::path::Path;

/// Returns the names in a folder, sorted.
///
/// # Panics
/// If the folder cannot be read.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}
