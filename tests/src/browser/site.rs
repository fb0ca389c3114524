//! The built page in a folder of its own, served at an address of its own, so that a test can
//! damage its files without harming others and without a browser's cache helping out.

use std::fs;
use std::path::{Path, PathBuf};

use espalier_core::bundle::{Manifest, Part};
use tempfile::TempDir;
use xtask::serve::Server;

/// Where the shipped model lies in the built page.
const MODEL: &str = "models/default";

/// The parts that the page fetches for a photo.
pub const PARTS: [Part; 4] = [Part::Image, Part::Captions, Part::Taxonomy, Part::Selftest];

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
    /// When it has not been built; says how to.
    #[must_use]
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
    #[must_use]
    pub fn copy() -> Self {
        let copy = tempfile::tempdir().unwrap_or_else(|e| panic!("a temporary folder: {e}"));
        let folder = copy.path().join("dist");
        copy_folder(&dist(), &folder).unwrap_or_else(|e| panic!("copying the page: {e}"));
        Self {
            server: serve(&folder),
            folder,
            _copy: Some(copy),
        }
    }

    /// Copies the page into a folder of somebody else.
    ///
    /// # Panics
    /// When the page has not been built or cannot be copied.
    pub fn put_into(folder: &Path) {
        copy_folder(&dist(), folder).unwrap_or_else(|e| panic!("copying the page: {e}"));
    }

    /// Takes the bundle at `from` instead of the shipped one.
    ///
    /// # Panics
    /// When it cannot be copied, or this is not a copy of the page.
    pub fn take_model(&self, from: &Path) {
        assert!(
            self._copy.is_some(),
            "only a copy of the page may be changed"
        );
        let to = self.folder.join(MODEL);
        fs::remove_dir_all(&to)
            .and_then(|()| copy_folder(from, &to))
            .unwrap_or_else(|e| panic!("{}: {e}", from.display()));
    }

    /// Its address, with a slash at its end.
    #[must_use]
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Ends the server; whoever asks it for anything gets no answer from now on.
    pub fn stop(&mut self) {
        self.server.stop();
    }

    /// Puts a copy of the shipped model beside it under another name; for copies of the page only.
    ///
    /// # Panics
    /// When it cannot be copied.
    pub fn add_model(&self, name: &str) {
        let models = self.folder.join("models");
        copy_folder(&self.folder.join(MODEL), &models.join(name))
            .and_then(|()| {
                fs::write(
                    self.folder.join("models.json"),
                    format!("[\"default\", \"{name}\"]"),
                )
            })
            .unwrap_or_else(|e| panic!("{name}: {e}"));
    }

    /// A file of the model.
    #[must_use]
    pub fn model_file(&self, name: &str) -> PathBuf {
        self.folder.join(MODEL).join(name)
    }

    /// What the model says of its files.
    ///
    /// # Panics
    /// When the page was built without a model.
    #[must_use]
    pub fn manifest(&self) -> Manifest {
        let path = self.model_file("manifest.json");
        let bytes = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Manifest::parse(&bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }
}

fn serve(folder: &Path) -> Server {
    Server::start(folder, 0).unwrap_or_else(|e| panic!("serving {}: {e:#}", folder.display()))
}

fn dist() -> PathBuf {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../dist");
    let folder = std::env::var_os("ESPALIER_DIST").map_or_else(default, PathBuf::from);
    let manifest = folder.join(MODEL).join("manifest.json");
    assert!(
        manifest.is_file(),
        "there is no built page with its model in {}: run `cargo xtask build-web --release`",
        folder.display()
    );
    folder
}

fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy_folder(&path, &target)?;
        } else {
            fs::copy(&path, &target)?;
        }
    }
    Ok(())
}
