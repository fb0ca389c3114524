//! A visitor with a photo, as tests of both kinds need one.

use std::path::PathBuf;

use espalier_tests::browser::{Answer, Browser, Gpu, Site};
use espalier_tests::photos::{jpeg, keep, landscape};

/// A visitor with a photo, before the page is opened.
pub(crate) struct Visit {
    pub(crate) photo: PathBuf,
    pub(crate) site: Site,
    pub(crate) browser: Browser,
    pub(crate) folder: tempfile::TempDir,
}

impl Visit {
    pub(crate) fn to(site: Site, gpu: Gpu) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            photo: keep(folder.path(), "photo.jpg", &jpeg(&landscape(320, 240), 1)),
            site,
            browser: Browser::start(gpu),
            folder,
        }
    }

    /// A visitor of the page as it was built, with its CPU engine.
    pub(crate) fn new() -> Self {
        Self::to(Site::built(), Gpu::None)
    }

    pub(crate) fn open(&self, query: &str) -> &Self {
        self.browser.open(&self.site, query);
        self
    }

    pub(crate) fn answer(&self) -> Answer {
        self.browser.give(&self.photo).unwrap()
    }
}
