//! The built page in a separate folder, served from a separate origin, so that a test can damage
//! its files without affecting other tests and without hits in a browser's cache.

use std::fs;
use std::path::{Path, PathBuf};

use espalier_core::bundle::Manifest;
use tempfile::TempDir;
use xtask::files::copy_folder;
use xtask::serve::Server;

/// The model whose exact answers tests expect. The page loads it with `?model=tiny`.
pub const TINY: &str = "tiny";
/// The model that the page loads if its address names none.
pub const DEFAULT: &str = "default";

/// A served folder.
pub struct Site {
    folder: PathBuf,
    server: Server,
    _copy: Option<TempDir>,
}

impl Site {
    /// Serves the page as it was built: the folder `ESPALIER_DIST`, or `dist` of the repository.
    ///
    /// # Panics
    /// If it has not been built; the message says how to build it.
    pub fn built() -> Self {
        let folder = dist();
        Self {
            server: serve(&folder),
            folder,
            _copy: None,
        }
    }

    /// Serves a copy of the page, which may be damaged.
    ///
    /// # Panics
    /// When the page has not been built or cannot be copied.
    pub fn copy() -> Self {
        let copy = tempfile::tempdir().unwrap_or_else(|e| panic!("no temporary folder: {e}"));
        let folder = copy.path().join("dist");
        copy_folder(&dist(), &folder).unwrap_or_else(|e| panic!("cannot copy the page: {e}"));
        Self {
            server: serve(&folder),
            folder,
            _copy: Some(copy),
        }
    }

    /// Replaces the page's model `name` by the bundle at `from`.
    ///
    /// # Panics
    /// When it cannot be copied, or this is not a copy of the page.
    pub fn replace_model(&self, name: &str, from: &Path) {
        assert!(
            self._copy.is_some(),
            "only a copy of the page may be changed"
        );
        let to = self.model_folder(name);
        fs::remove_dir_all(&to)
            .and_then(|()| copy_folder(from, &to))
            .unwrap_or_else(|e| panic!("{}: {e}", from.display()));
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
    ///
    /// # Panics
    /// When the page was built without that model.
    pub fn manifest(&self, name: &str) -> Manifest {
        let path = self.model_folder(name).join("manifest.json");
        let bytes = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Manifest::parse(&bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }
}

fn serve(folder: &Path) -> Server {
    Server::start(folder, 0).unwrap_or_else(|e| panic!("cannot serve {}: {e:#}", folder.display()))
}

/// Returns the folder of the built page.
///
/// # Panics
/// If the page has not been built.
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
