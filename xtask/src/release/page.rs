//! The archive of the page: the folder `page`, for any host of static files, and for
//! `espalier export --site`, which finds it beside the program.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::archive::{self, Archive};
use super::licences;
use super::version::VERSION;
use crate::paths;
use crate::setup::target::TARGET;

/// How `cargo tree` selects what the page and both engines are compiled from.
pub const SELECTION: [&str; 4] = ["-p", "espalier-web", "--features", "cpu,webgpu"];

/// Packs the built page and returns the path of the archive.
///
/// # Errors
/// Fails if the page was not built or the archive cannot be written.
pub fn pack(root: &Path, out: &Path) -> Result<PathBuf> {
    let mut archive = Archive::new("page");
    archive.add_folder("", &paths::dist(root))?;
    for (name, text) in licences::files(root, &SELECTION, TARGET)? {
        archive.add(&name, text);
    }
    let path = out.join(format!("espalier-page-{VERSION}.tar.gz"));
    archive.write(&path, archive::time(root))?;
    Ok(path)
}
