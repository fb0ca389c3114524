//! The folder that is served: addresses to files, and the compressed copies kept in memory.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

use anyhow::{Context, Result};
use flate2::{Compression, write::GzEncoder};
use percent_encoding::percent_decode_str;

/// Larger files are sent as they are; compressing them on request would take too long.
const ZIP_LIMIT: u64 = 64 << 20;

/// Compressed files by path and validator.
type Copies = HashMap<(PathBuf, String), Arc<[u8]>>;

/// One folder and the compressed copies of its files.
pub(super) struct Site {
    root: PathBuf,
    zipped: Mutex<Copies>,
}

/// What an address means.
pub(super) enum Target {
    /// A file that exists.
    File(Page),
    /// A folder asked for without the slash that relative addresses need.
    Folder,
    /// Nothing that we serve.
    Missing,
}

/// A file and what its metadata say.
pub(super) struct Page {
    /// Resolved path inside the folder.
    pub(super) path: PathBuf,
    /// Bytes.
    pub(super) length: u64,
    /// Validator: changes with length or modification time.
    pub(super) etag: String,
}

impl Site {
    /// Opens `folder`.
    pub(super) fn open(folder: &Path) -> Result<Self> {
        let root = folder
            .canonicalize()
            .with_context(|| format!("there is no folder {} to serve", folder.display()))?;
        Ok(Self {
            root,
            zipped: Mutex::default(),
        })
    }

    /// Finds what `url` (path and query, percent-encoded) means.
    pub(super) fn find(&self, url: &str) -> Target {
        let Some(path) = self.resolve(url) else {
            return Target::Missing;
        };
        if !path.is_dir() {
            return page(&path).map_or(Target::Missing, Target::File);
        }
        let asked = url.split(['?', '#']).next().unwrap_or_default();
        if !asked.ends_with('/') {
            return Target::Folder;
        }
        page(&path.join("index.html")).map_or(Target::Missing, Target::File)
    }

    /// The existing path for an address, never outside of the folder and never a hidden file.
    fn resolve(&self, url: &str) -> Option<PathBuf> {
        let asked = url.split(['?', '#']).next()?;
        let decoded = percent_decode_str(asked).decode_utf8().ok()?;
        let mut path = self.root.clone();
        for name in decoded
            .strip_prefix('/')?
            .split('/')
            .filter(|name| !name.is_empty())
        {
            // Leading dots cover `..` as well; the others separate paths on some systems.
            if name.starts_with('.') || name.contains(['\\', ':', '\0']) {
                return None;
            }
            path.push(name);
        }
        // A link may lead out of the folder although its name does not.
        path.canonicalize()
            .ok()
            .filter(|real| real.starts_with(&self.root))
    }

    /// The file compressed, from memory where it was asked for before.
    pub(super) fn zipped(&self, page: &Page) -> io::Result<Option<Arc<[u8]>>> {
        if page.length > ZIP_LIMIT {
            return Ok(None);
        }
        let key = (page.path.clone(), page.etag.clone());
        if let Some(bytes) = self.lock().get(&key) {
            return Ok(Some(Arc::clone(bytes)));
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&std::fs::read(&page.path)?)?;
        let bytes: Arc<[u8]> = encoder.finish()?.into();
        let mut kept = self.lock();
        kept.retain(|(path, _), _| *path != page.path);
        kept.insert(key, Arc::clone(&bytes));
        Ok(Some(bytes))
    }

    /// A thread that panicked cannot have left the map half written.
    fn lock(&self) -> MutexGuard<'_, Copies> {
        self.zipped.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn page(path: &Path) -> Option<Page> {
    // Opened, not only looked at: a file without read permission is not there for us.
    let metadata = File::open(path).and_then(|file| file.metadata()).ok()?;
    metadata.is_file().then(|| Page {
        path: path.to_path_buf(),
        length: metadata.len(),
        etag: etag(&metadata),
    })
}

fn etag(metadata: &Metadata) -> String {
    let modified = metadata
        .modified()
        .ok()
        .and_then(|t| t.duration_since(UNIX_EPOCH).ok());
    format!(
        "\"{:x}-{:x}\"",
        metadata.len(),
        modified.unwrap_or_default().as_nanos()
    )
}
