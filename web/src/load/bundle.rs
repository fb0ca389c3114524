//! Loads a model's files from the cache or else from the server, and verifies them in either case.

use std::cell::{Cell, RefCell};

use espalier_core::bundle::{BundleFile, BundleFiles, Manifest, Part, VerifiedFile};
use futures::stream::{self, StreamExt, TryStreamExt};
use web_sys::RequestCache;

use super::cache::{FileCache, key};
use super::fetch::{FileRequest, fetch_file};
use super::lock::Lock;
use crate::messages::protocol::{Progress, Stage};
use crate::ui_error::UiError;

/// Number of files that are fetched at the same time: the one that is awaited, and the next.
const AT_ONCE: usize = 2;

/// A model whose manifest has been read; its files are loaded one by one.
#[derive(Clone, Debug)]
pub struct RemoteModel {
    /// The manifest as raw bytes.
    pub bytes: Vec<u8>,
    /// The parsed manifest.
    pub manifest: Manifest,
    base: String,
    cache: FileCache,
}

impl RemoteModel {
    /// Reads the manifest at `manifest_url`.
    ///
    /// # Errors
    /// When the manifest cannot be fetched or is damaged.
    pub async fn at(manifest_url: &str) -> Result<Self, UiError> {
        const NAME: &str = "manifest.json";
        // Revalidated each time: only the manifest determines the version of the other files.
        let request = FileRequest {
            url: manifest_url,
            name: NAME,
            bytes: 0,
            cache: RequestCache::NoCache,
        };
        let bytes = fetch_file(request, |_| ()).await?;
        let manifest =
            Manifest::parse(&bytes).map_err(|error| UiError::in_file(NAME, error.to_string()))?;
        Ok(Self {
            bytes,
            manifest,
            base: folder(manifest_url).to_owned(),
            cache: FileCache::open().await,
        })
    }

    /// Passes every file needed for a first answer to `on_file`, one after the other. The next file
    /// arrives while one is processed. `report` receives the progress.
    ///
    /// # Errors
    /// When a file is missing, truncated or damaged (named in the error), when the connection
    /// breaks, or when `on_file` fails.
    pub async fn first_files(
        &self,
        report: impl FnMut(Progress),
        mut on_file: impl FnMut(VerifiedFile) -> Result<(), UiError>,
    ) -> Result<(), UiError> {
        let files: Vec<_> = self.manifest.first_files_of(&Part::OF_AN_ANSWER).collect();
        let total = self.manifest.first_bytes_of(&Part::OF_AN_ANSWER);
        let (loaded, report) = (Cell::new(0), RefCell::new(report));
        let fetch = |file: &BundleFile| {
            let (loaded, report) = (&loaded, &report);
            let (file, mut before) = (file.clone(), 0);
            async move {
                // A file that is too long is rejected later; the bar must not exceed its share.
                let mut arrived = |received: u64| {
                    let received = received.min(file.bytes);
                    loaded.set(loaded.get() + received.saturating_sub(before));
                    before = before.max(received);
                    (report.borrow_mut())(Progress {
                        stage: Stage::Model,
                        loaded: loaded.get(),
                        total,
                        file: Some(file.path.clone()),
                    });
                };
                arrived(0);
                let checked = self.file(&file, &mut arrived).await?;
                arrived(file.bytes);
                Ok::<_, UiError>(checked)
            }
        };
        let mut fetched = stream::iter(files.into_iter().map(fetch)).buffered(AT_ONCE);
        while let Some(file) = fetched.try_next().await? {
            on_file(file)?;
        }
        Ok(())
    }

    /// Loads the files of the text encoder, which only a visitor who types needs. `report` receives
    /// the bytes that have arrived and the total.
    ///
    /// # Errors
    /// As [`first_files`](Self::first_files), and when the model has no text encoder.
    pub async fn text_files(
        &self,
        mut report: impl FnMut(u64, u64),
    ) -> Result<BundleFiles, UiError> {
        let total = self.manifest.bytes_of(&[Part::Text]);
        if total == 0 {
            return Err(UiError::no_text_encoder());
        }
        let mut files = BundleFiles::default();
        let mut before = 0;
        for file in self.manifest.files_of(&[Part::Text]) {
            let arrived = |received: u64| report(before + received.min(file.bytes), total);
            files.insert(self.file(file, arrived).await?)?;
            before += file.bytes;
            report(before, total);
        }
        Ok(files)
    }

    /// Loads one file and verifies it. Stores it for the next visit if the browser allows it; full
    /// storage is not an error.
    ///
    /// # Errors
    /// As [`first_files`](Self::first_files).
    pub async fn file(
        &self,
        file: &BundleFile,
        arrived: impl FnMut(u64),
    ) -> Result<VerifiedFile, UiError> {
        let url = format!("{}{}", self.base, file.path);
        let key = key(&url, &file.sha256);
        if let Some(cached) = self.cached(file, &key).await {
            return Ok(cached);
        }
        // Another tab may be fetching the same file; it is then cached when the lock is granted.
        let _lock = Lock::wait(&file.sha256).await;
        if let Some(cached) = self.cached(file, &key).await {
            return Ok(cached);
        }
        let checked = fetched(file, &url, arrived).await?;
        self.cache.put(&key, checked.bytes()).await;
        Ok(checked)
    }

    async fn cached(&self, file: &BundleFile, key: &str) -> Option<VerifiedFile> {
        let bytes = self.cache.get(key).await?;
        let checked = file.check(bytes).ok();
        if checked.is_none() {
            self.cache.remove(key).await;
        }
        checked
    }

    /// Deletes cached files of earlier versions of this model.
    pub async fn remove_old_files(&self) {
        let keep = self.manifest.files.iter();
        let keep = keep.map(|file| key(&format!("{}{}", self.base, file.path), &file.sha256));
        let keep: Vec<String> = keep.collect();
        self.cache.remove_others(&self.base, &keep).await;
    }
}

/// Fetches a file from the server and verifies it. On failure, fetches it once more past the
/// browser's HTTP cache, which may hold an older model's file under the same name.
async fn fetched(
    file: &BundleFile,
    url: &str,
    mut arrived: impl FnMut(u64),
) -> Result<VerifiedFile, UiError> {
    let mut cache = RequestCache::Default;
    loop {
        let request = FileRequest {
            url,
            name: &file.path,
            bytes: file.bytes,
            cache,
        };
        let bytes = fetch_file(request, &mut arrived).await?;
        match file.check(bytes) {
            Ok(checked) => return Ok(checked),
            Err(_) if cache == RequestCache::Default => cache = RequestCache::Reload,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Returns the address up to and including its last slash, without query or fragment.
pub fn folder(url: &str) -> &str {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    path.rfind('/').map_or(path, |slash| &path[..=slash])
}
