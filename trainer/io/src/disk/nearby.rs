//! Folders in which an installation or the repository keeps files for this program.

use std::path::PathBuf;

/// Returns the folders above this program, nearest first, then the current folder and those above it.
pub fn nearby() -> impl Iterator<Item = PathBuf> {
    let program = std::env::current_exe().into_iter();
    let above = program.flat_map(|path| folders_from(path).skip(1));
    above.chain(std::env::current_dir().into_iter().flat_map(folders_from))
}

/// Returns a path and the folders above it.
fn folders_from(path: PathBuf) -> impl Iterator<Item = PathBuf> {
    std::iter::successors(Some(path), |path| path.parent().map(PathBuf::from))
}
