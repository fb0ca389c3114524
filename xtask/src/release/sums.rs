//! `SHA256SUMS`, in the form that `sha256sum --check` reads.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::digest::hex;
use crate::files;

/// Name of the list.
const FILE: &str = "SHA256SUMS";

/// Writes the hashes of all other files of a folder, and returns the path of the list.
///
/// # Errors
/// Fails if a file cannot be read or the list cannot be written.
pub fn write(folder: &Path) -> Result<PathBuf> {
    let mut list = String::new();
    for path in files::entries(folder)? {
        let name = files::name_from(folder, &path);
        if path.is_file() && name != FILE {
            writeln!(list, "{}  {name}", hash(&path)?)?;
        }
    }
    let path = folder.join(FILE);
    fs::write(&path, list).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

fn hash(path: &Path) -> Result<String> {
    let content = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(hex(&Sha256::digest(content)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_does_not_name_itself() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("b"), "").unwrap();
        fs::write(folder.path().join("a"), "abc").unwrap();
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a\n\
                        e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  b\n";
        for _ in 0..2 {
            let list = write(folder.path()).unwrap();
            assert_eq!(fs::read_to_string(list).unwrap(), expected);
        }
    }
}
