//! The built page in a separate folder, served from a separate origin, so that a test can damage
//! its files without affecting other tests and without hits in a browser's cache.

use std::fs;
use std::path::{Path, PathBuf};

use espalier_core::bundle::Manifest;
use tempfile::TempDir;
use xtask::files::copy_folder;
use xtask::serve::Server;

use crate::models::manifest;

/// The model whose exact answers tests expect. The page loads it with `?model=tiny`.
pub const TINY: &str = "tiny";
/// The model that the page loads if its address names none.
pub const DEFAULT: &str = "default";

/// A served folder.
pub struct Site {
    folder: PathBuf,
    server: Server,
    /// Where this is a copy of the page.
    copy: Option<TempDir>,
}

impl Site {
    /// Serves the page as it was built: the folder `ESPALIER_DIST`, or `dist` of the repository.
    pub fn built() -> Self {
        let folder = dist();
        Self {
            server: Server::start(&folder, 0).unwrap(),
            folder,
            copy: None,
        }
    }

    /// Serves a copy of the page, which may be damaged.
    pub fn copy() -> Self {
        let copy = tempfile::tempdir().unwrap();
        let folder = copy.path().join("dist");
        copy_folder(&dist(), &folder).unwrap();
        Self {
            server: Server::start(&folder, 0).unwrap(),
            folder,
            copy: Some(copy),
        }
    }

    /// Replaces the page's model `name` by the bundle at `from`.
    pub fn replace_model(&self, name: &str, from: &Path) {
        let is_copy = self.copy.is_some();
        assert!(is_copy, "only a copy of the page may be changed");
        replace_folder(&self.model_folder(name), from);
    }

    /// Returns the address of the site, with a trailing slash.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Stops the server; later requests get no response.
    pub fn stop(&mut self) {
        self.server.stop();
    }

    /// Returns the file that an address of this site refers to; `None` for an address of another
    /// site.
    pub fn file_of(&self, url: &str) -> Option<PathBuf> {
        let path = url.strip_prefix(&self.url())?;
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let path = if path.is_empty() { "index.html" } else { path };
        Some(self.folder.join(path))
    }

    /// Returns the folder of a model of the page.
    pub fn model_folder(&self, name: &str) -> PathBuf {
        self.folder.join("models").join(name)
    }

    /// Reads the manifest of a model of the page.
    pub fn manifest(&self, name: &str) -> Manifest {
        manifest(&self.model_folder(name))
    }
}

/// Puts a copy of a folder in the place of another.
pub(super) fn replace_folder(old: &Path, new: &Path) {
    fs::remove_dir_all(old).unwrap();
    copy_folder(new, old).unwrap();
}

/// Returns the folder of the built page.
pub(super) fn dist() -> PathBuf {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../dist");
    let named = std::env::var_os("ESPALIER_DIST").map(PathBuf::from);
    let source = match named {
        Some(_) => "the folder that ESPALIER_DIST names",
        None => "the folder that is read where ESPALIER_DIST is not set",
    };
    let folder = named.unwrap_or_else(default);
    for name in [TINY, DEFAULT] {
        let manifest = folder.join("models").join(name).join("manifest.json");
        assert!(
            manifest.is_file(),
            "expected a built page with the model `{name}` in {}, {source}, found none; \
             `cargo xtask test` builds it and sets the variable",
            folder.display()
        );
    }
    folder
}
