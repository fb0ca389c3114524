//! One object of a store, read in blocks through the cache.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use bytes::Bytes;
use object_store::path::Path as Key;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt};
use sha2::{Digest, Sha256};

use super::address::Address;
use super::blocks::Blocks;
use super::cache::settings;
use super::failure::Failure;
use super::stores::{self, describe, wait};

/// Bytes of a block. A small one lets the footer of a shard cost little; large reads take many blocks
/// in one request.
pub(super) const BLOCK: u64 = 256 << 10;
/// Blocks of one request: 8 MiB.
const BLOCKS_PER_REQUEST: u64 = 32;
/// Requests of one object at the same time.
const REQUESTS: usize = 4;

/// Objects that this process has opened, with what they were then.
static OPENED: Mutex<Option<HashMap<PathBuf, Arc<RemoteObject>>>> = Mutex::new(None);
/// The cache that the next object uses.
static CACHE: Mutex<Option<Arc<Blocks>>> = Mutex::new(None);

/// An object.
#[derive(Debug)]
pub(super) struct RemoteObject {
    address: Address,
    store: Arc<dyn ObjectStore>,
    key: Key,
    pub(super) size: u64,
    /// Version of the content, where the store states one.
    e_tag: Option<String>,
    cache: Arc<Blocks>,
    /// Name of the content in the cache.
    pub(super) name: String,
    failure: Mutex<Option<(io::ErrorKind, Failure)>>,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the cache with the present settings.
fn cache() -> Arc<Blocks> {
    let mut cache = locked(&CACHE);
    let settings = settings();
    match &*cache {
        Some(cache) if cache.settings == settings => Arc::clone(cache),
        _ => Arc::clone(cache.insert(Arc::new(Blocks::new(settings)))),
    }
}

/// Returns a name for the content of an object. A store that states neither an e-tag nor a date gives
/// no means to notice another content of the same length, which is then cached for this process only.
fn name_of(address: &Address, meta: &ObjectMeta) -> String {
    let version = match &meta.e_tag {
        Some(tag) => tag.clone(),
        None if meta.last_modified.timestamp() != 0 => meta.last_modified.to_rfc3339(),
        None => format!("{} {:?}", std::process::id(), SystemTime::now()),
    };
    let Address { scheme, place, key } = address;
    let mut hash = Sha256::new();
    let size = meta.size.to_string();
    let parts: [&str; 5] = [scheme, place, key, &size, &version];
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    let bytes = hash.finalize();
    let shown = bytes.iter().take(16).map(|byte| format!("{byte:02x}"));
    shown.collect()
}

/// Returns the objects directly below an address, sorted by name.
///
/// # Errors
/// If the store cannot be reached or cannot list.
pub(super) fn list(prefix: &Address) -> io::Result<Vec<PathBuf>> {
    let store = stores::store(prefix)?;
    let key = stores::key(prefix)?;
    let listed = wait(store.list_with_delimiter(Some(&key)))?;
    let listed = listed.map_err(|e| stores::describe_list(&e, prefix))?;
    let Address { scheme, place, .. } = prefix;
    let objects = listed.objects.into_iter();
    let mut paths: Vec<PathBuf> = objects
        .map(|object| PathBuf::from(format!("{scheme}://{place}/{}", object.location)))
        .collect();
    paths.sort();
    Ok(paths)
}

impl RemoteObject {
    /// Opens an object; the first time in a process notes its size and its version.
    pub(super) fn open(path: &Path) -> io::Result<Arc<Self>> {
        if let Some(object) = locked(&OPENED).get_or_insert_default().get(path) {
            return Ok(Arc::clone(object));
        }
        let address = Address::parse(path)?;
        let store = stores::store(&address)?;
        let key = stores::key(&address)?;
        let meta = wait(store.head(&key))?.map_err(|e| describe(&e, &address))?;
        let object = Arc::new(Self {
            name: name_of(&address, &meta),
            address,
            store,
            key,
            size: meta.size,
            e_tag: meta.e_tag,
            cache: cache(),
            failure: Mutex::new(None),
        });
        // Another thread may have opened it meanwhile; all must use the same version.
        let mut opened = locked(&OPENED);
        let opened = opened.get_or_insert_default().entry(path.to_owned());
        Ok(Arc::clone(opened.or_insert(object)))
    }

    /// Returns the last failure.
    pub(super) fn failure(&self) -> Option<io::Error> {
        let failure = locked(&self.failure).clone();
        failure.map(|(kind, failure)| failure.into_io(kind))
    }

    fn note<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.inspect_err(|e| {
            *locked(&self.failure) = Some((e.kind(), Failure(e.to_string())));
        })
    }

    fn len_of(&self, index: u64) -> usize {
        self.size.saturating_sub(index * BLOCK).min(BLOCK) as usize
    }

    /// Returns a block.
    pub(super) fn block(&self, index: u64) -> io::Result<Vec<u8>> {
        if let Some(block) = self.cache.get(&self.name, index, self.len_of(index)) {
            return Ok(block);
        }
        self.note(self.fetch(index..index + 1)).map(Vec::from)
    }

    /// Fills `bytes` from `offset` on.
    pub(super) fn read_exact_at(&self, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
        let end = offset.checked_add(bytes.len() as u64);
        if end.is_none_or(|end| end > self.size) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        while !bytes.is_empty() {
            let block = self.block(offset / BLOCK)?;
            let part = &block[(offset % BLOCK) as usize..];
            let (now, later) = bytes.split_at_mut(part.len().min(bytes.len()));
            now.copy_from_slice(&part[..now.len()]);
            offset += now.len() as u64;
            bytes = later;
        }
        Ok(())
    }

    /// Fetches what the cache lacks of a range, in large requests, some of them at the same time.
    pub(super) fn prefetch(&self, range: Range<u64>) -> io::Result<()> {
        let end = range.end.min(self.size).div_ceil(BLOCK);
        let mut requests: Vec<Range<u64>> = Vec::new();
        for index in range.start / BLOCK..end {
            if self.cache.has(&self.name, index, self.len_of(index)) {
                continue;
            }
            match requests.last_mut() {
                Some(last) if last.end == index && index - last.start < BLOCKS_PER_REQUEST => {
                    last.end += 1;
                }
                _ => requests.push(index..index + 1),
            }
        }
        let next = AtomicUsize::new(0);
        let work = || -> io::Result<()> {
            while let Some(request) = requests.get(next.fetch_add(1, Ordering::Relaxed)) {
                self.fetch(request.clone())?;
            }
            Ok(())
        };
        if requests.len() < 2 {
            return self.note(work());
        }
        let results: Vec<io::Result<()>> = std::thread::scope(|scope| {
            let threads = requests.len().min(REQUESTS);
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let ended = |_| {
                Err(Failure("a thread that fetches data failed".to_owned())
                    .into_io(io::ErrorKind::Other))
            };
            threads
                .into_iter()
                .map(|t| t.join().unwrap_or_else(ended))
                .collect()
        });
        self.note(results.into_iter().collect())
    }

    /// Fetches consecutive blocks and keeps them.
    fn fetch(&self, blocks: Range<u64>) -> io::Result<Bytes> {
        let range = blocks.start * BLOCK..(blocks.end * BLOCK).min(self.size);
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        // A weak tag never matches; it is compared below.
        let strong = self.e_tag.clone().filter(|tag| !tag.starts_with("W/"));
        let options = GetOptions {
            range: Some(GetRange::Bounded(range.clone())),
            if_match: strong,
            ..GetOptions::default()
        };
        let got = wait(async {
            let result = self.store.get_opts(&self.key, options).await?;
            let meta = result.meta.clone();
            Ok::<_, object_store::Error>((meta, result.bytes().await?))
        })?;
        let (meta, bytes) = got.map_err(|e| match e {
            object_store::Error::Precondition { .. } => self.changed("another version"),
            e => describe(&e, &self.address),
        })?;
        if meta.size != self.size || self.e_tag.is_some() && meta.e_tag != self.e_tag {
            let tag = meta.e_tag.unwrap_or_else(|| "none".to_owned());
            return Err(self.changed(&format!("{} bytes with the e-tag {tag}", meta.size)));
        }
        let (expected, found) = (range.end - range.start, bytes.len());
        if found as u64 != expected {
            return Err(Failure(format!("expected {expected} bytes, found {found}"))
                .into_io(io::ErrorKind::Other));
        }
        for (index, block) in blocks.zip(bytes.chunks(BLOCK as usize)) {
            self.cache.put(&self.name, index, block)?;
        }
        Ok(bytes)
    }

    fn changed(&self, found: &str) -> io::Error {
        let tag = self.e_tag.as_deref().unwrap_or("none");
        Failure(format!(
            "the object changed while it was in use: expected {} bytes with the e-tag {tag}, found \
             {found}; put the object back, or begin a new run with the new data",
            self.size
        ))
        .into_io(io::ErrorKind::Other)
    }
}
