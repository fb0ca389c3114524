//! A model's files: from the cache where they are kept, else from the server, checked either way.

use espalier_core::bundle::{BundleFile, Checked, Manifest};
use web_sys::RequestCache;

use super::PARTS;
use super::cache::Store;
use super::fetch::{Wanted, whole};
use super::turn::Turn;
use crate::messages::protocol::{Progress, Stage};
use crate::ui_error::UiError;

/// A model that has been found: its list of files is here, the files come one by one.
#[derive(Clone, Debug)]
pub struct Found {
    /// The manifest as it came.
    pub bytes: Vec<u8>,
    /// The same, read.
    pub manifest: Manifest,
    base: String,
    store: Store,
}

impl Found {
    /// Reads the manifest at `manifest_url`.
    ///
    /// # Errors
    /// What the visitor should know: there is none, or it is damaged.
    pub async fn at(manifest_url: &str) -> Result<Self, UiError> {
        const NAME: &str = "manifest.json";
        // Asked for anew each time: it alone says which version of the other files is wanted.
        let wanted = Wanted {
            url: manifest_url,
            name: NAME,
            bytes: 0,
            cache: RequestCache::NoCache,
        };
        let bytes = whole(wanted, |_| ()).await?;
        let manifest =
            Manifest::parse(&bytes).map_err(|error| UiError::in_file(NAME, &error.to_string()))?;
        Ok(Self {
            bytes,
            manifest,
            base: folder(manifest_url).to_owned(),
            store: Store::open().await,
        })
    }

    /// Hands every file that a first answer needs to `take`, one after the other; `report` is told
    /// of every step.
    ///
    /// # Errors
    /// What the visitor should know: which file is missing, cut short or damaged, that the
    /// connection broke, or what `take` says.
    pub async fn first(
        &self,
        mut report: impl FnMut(Progress),
        mut take: impl FnMut(Checked) -> Result<(), UiError>,
    ) -> Result<(), UiError> {
        let total = self.manifest.first_bytes_of(&PARTS);
        let mut before = 0;
        for file in self.manifest.first_of(&PARTS) {
            let mut step = |loaded| {
                report(Progress {
                    stage: Stage::Model,
                    loaded,
                    total,
                    file: Some(file.path.clone()),
                });
            };
            step(before);
            // A file longer than it should be is refused later; the bar must not show it.
            let checked = self
                .file(file, |held| step(before + held.min(file.bytes)))
                .await?;
            take(checked)?;
            before += file.bytes;
            step(before);
        }
        Ok(())
    }

    /// One file, checked. It is kept for the next visit where the browser lets us; where storage is
    /// full this visit goes on without.
    ///
    /// # Errors
    /// As [`first`](Self::first).
    pub async fn file(
        &self,
        file: &BundleFile,
        arrived: impl FnMut(u64),
    ) -> Result<Checked, UiError> {
        let url = format!("{}{}", self.base, file.path);
        if let Some(kept) = self.kept(file, &url).await {
            return Ok(kept);
        }
        // Another tab may be fetching the very same; then it is here when our turn comes.
        let _turn = Turn::wait(&file.sha256).await;
        if let Some(kept) = self.kept(file, &url).await {
            return Ok(kept);
        }
        let checked = fetched(file, &url, arrived).await?;
        self.store.put(&url, &file.sha256, checked.bytes()).await;
        Ok(checked)
    }

    async fn kept(&self, file: &BundleFile, url: &str) -> Option<Checked> {
        let kept = self.store.get(url, &file.sha256).await?;
        match file.check(kept) {
            Ok(checked) => Some(checked),
            Err(_) => {
                self.store.forget(url, &file.sha256).await;
                None
            }
        }
    }

    /// Lets go of what an earlier version of this model left in the cache.
    pub async fn sweep(&self) {
        let keep = self.manifest.files.iter();
        let keep: Vec<_> = keep
            .map(|file| (format!("{}{}", self.base, file.path), file.sha256.clone()))
            .collect();
        self.store.sweep(&self.base, &keep).await;
    }
}

/// A file from the server. One that fails its check is fetched once more past the browser's HTTP
/// cache, which may still hold the file of an older model under the same name.
async fn fetched(
    file: &BundleFile,
    url: &str,
    mut arrived: impl FnMut(u64),
) -> Result<Checked, UiError> {
    let mut cache = RequestCache::Default;
    loop {
        let wanted = Wanted {
            url,
            name: &file.path,
            bytes: file.bytes,
            cache,
        };
        let bytes = whole(wanted, &mut arrived).await?;
        match file.check(bytes) {
            Ok(checked) => return Ok(checked),
            Err(_) if cache == RequestCache::Default => cache = RequestCache::Reload,
            Err(error) => return Err(UiError::from(&error)),
        }
    }
}

/// The address up to and with its last slash; a query part is left out.
pub(super) fn folder(url: &str) -> &str {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    path.rfind('/').map_or(path, |slash| &path[..=slash])
}
