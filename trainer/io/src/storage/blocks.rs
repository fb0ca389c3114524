//! Blocks of objects in a folder on disk, which several processes can share.
//!
//! A block is a file of its own: its bytes, then their CRC-32C. It gets its name when it is complete,
//! and a file whose length or check sum is wrong is as good as none, so that neither a killed process
//! nor a full or damaged disk can pass wrong bytes on.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::cache::Settings;
use super::evict::evict;
use super::failure::Failure;
use crate::disk::temporary::Temporary;

/// Bytes of the check sum behind a block.
const SUM: usize = 4;
/// Bytes that a process keeps before it looks again how full the folder is; less for a small cache.
const MOST_UNCOUNTED: u64 = 256 << 20;

/// Distinguishes the temporary files of this process.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// The cache.
#[derive(Debug)]
pub(super) struct Blocks {
    pub(super) settings: Settings,
    /// Bytes that may still be kept before the folder is counted.
    until_count: AtomicU64,
}

impl Blocks {
    /// Creates a cache; the folder is created with the first block.
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            settings,
            until_count: AtomicU64::new(0),
        }
    }

    fn file(&self, object: &str, index: u64) -> PathBuf {
        self.settings
            .folder
            .join(object)
            .join(format!("{index:08x}"))
    }

    /// Returns whether a file of the right length is there for a block of `len` bytes.
    pub(super) fn has(&self, object: &str, index: u64, len: usize) -> bool {
        let found = fs::metadata(self.file(object, index));
        found.is_ok_and(|found| found.len() == (len + SUM) as u64)
    }

    /// Returns block `index` of an object if it is there, complete and undamaged.
    pub(super) fn get(&self, object: &str, index: u64, len: usize) -> Option<Vec<u8>> {
        let path = self.file(object, index);
        let mut bytes = fs::read(&path).ok()?;
        let sum = bytes.split_off(bytes.len().saturating_sub(SUM));
        if bytes.len() == len && sum == crc32c::crc32c(&bytes).to_le_bytes() {
            return Some(bytes);
        }
        // Otherwise it would be read in vain each time. Another process may have replaced it.
        let _ = fs::remove_file(&path);
        None
    }

    /// Keeps a block, and removes the oldest ones where the cache is full.
    ///
    /// # Errors
    /// A failure that names the folder, if it cannot be written to.
    pub(super) fn put(&self, object: &str, index: u64, bytes: &[u8]) -> io::Result<()> {
        let path = self.file(object, index);
        // Another process may remove a folder that has become empty.
        let tried = self
            .write(&path, bytes)
            .or_else(|error| match error.kind() {
                io::ErrorKind::NotFound => self.write(&path, bytes),
                _ => Err(error),
            });
        tried.and_then(|()| self.make_room(bytes.len() as u64)).map_err(|e| {
            Failure(format!(
                "expected to write to the data cache {}, found {e}; free some space there, or choose \
                 another folder with --data-cache and its size with --data-cache-gib",
                self.settings.folder.display()
            ))
            .into_io(e.kind())
        })
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let unique = format!("{}-{number}.tmp", std::process::id());
        let temporary = Temporary::new(path.with_extension(unique))?;
        let mut file = fs::File::create(temporary.path())?;
        file.write_all(bytes)?;
        file.write_all(&crc32c::crc32c(bytes).to_le_bytes())?;
        drop(file);
        temporary.rename_to(path)
    }

    /// Counts `added` bytes; from time to time removes the oldest blocks.
    fn make_room(&self, added: u64) -> io::Result<()> {
        let count = |left: u64| left.checked_sub(added);
        if self
            .until_count
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, count)
            .is_ok()
        {
            return Ok(());
        }
        let slice = (self.settings.bytes / 16).min(MOST_UNCOUNTED);
        self.until_count.store(slice, Ordering::Relaxed);
        evict(&self.settings.folder, self.settings.bytes - slice)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn cache(folder: &Path, bytes: u64) -> Blocks {
        Blocks::new(Settings {
            folder: folder.join("cache"),
            bytes,
        })
    }

    #[test]
    fn a_block_that_is_cut_or_damaged_is_never_read() {
        let dir = tempfile::tempdir().unwrap();
        let cache = cache(dir.path(), 1 << 20);
        let bytes = vec![7; 1000];
        assert_eq!(cache.get("a", 0, 1000), None);
        cache.put("a", 0, &bytes).unwrap();
        assert!(cache.has("a", 0, 1000) && !cache.has("a", 0, 999));
        assert_eq!(cache.get("a", 0, 1000), Some(bytes.clone()));
        let file = cache.file("a", 0);
        for damage in [
            |b: &mut Vec<u8>| b.truncate(600),
            |b: &mut Vec<u8>| b.clear(),
            |b: &mut Vec<u8>| b[500] ^= 1,
            |b: &mut Vec<u8>| b.push(0),
        ] {
            cache.put("a", 0, &bytes).unwrap();
            let mut stored = fs::read(&file).unwrap();
            damage(&mut stored);
            fs::write(&file, stored).unwrap();
            assert_eq!(cache.get("a", 0, 1000), None);
            assert!(!file.exists());
        }
    }

    #[test]
    fn the_oldest_blocks_make_room_for_new_ones() {
        let dir = tempfile::tempdir().unwrap();
        let limit = 64 << 10;
        let cache = cache(dir.path(), limit);
        for index in 0..200 {
            cache.put("a", index, &[1; 1000]).unwrap();
            let file = fs::File::options()
                .write(true)
                .open(cache.file("a", index))
                .unwrap();
            let age = std::time::Duration::from_secs(1000 - index);
            file.set_modified(std::time::SystemTime::now() - age)
                .unwrap();
        }
        let files = fs::read_dir(dir.path().join("cache/a")).unwrap();
        let bytes: u64 = files.map(|f| f.unwrap().metadata().unwrap().len()).sum();
        assert!(bytes <= limit && bytes > limit / 2, "{bytes}");
        assert_eq!(cache.get("a", 0, 1000), None);
        assert!(cache.get("a", 199, 1000).is_some());
    }

    #[test]
    fn processes_share_one_folder_and_never_see_half_a_block() {
        let dir = tempfile::tempdir().unwrap();
        // Each thread has a cache of its own, as processes have. They write and evict all the time.
        let blocks = |index: u64| vec![index as u8; 3000];
        let seen: u64 = std::thread::scope(|scope| {
            let run = |seed: u64| {
                let cache = Arc::new(cache(dir.path(), 32 << 10));
                (0..300)
                    .filter(|step| {
                        let index = (step * 7 + seed * 3) % 20;
                        let found = cache.get("a", index, 3000);
                        if let Some(found) = &found {
                            assert_eq!(*found, blocks(index));
                        }
                        cache.put("a", index, &blocks(index)).unwrap();
                        found.is_some()
                    })
                    .count() as u64
            };
            let threads: Vec<_> = (0..4).map(|seed| scope.spawn(move || run(seed))).collect();
            threads.into_iter().map(|t| t.join().unwrap()).sum()
        });
        assert!(seen > 0);
        let left = fs::read_dir(dir.path().join("cache/a")).unwrap();
        let names: Vec<_> = left.map(|f| f.unwrap().file_name()).collect();
        assert!(
            names.iter().all(|n| !n.to_string_lossy().ends_with(".tmp")),
            "{names:?}"
        );
    }

    #[test]
    fn a_folder_that_cannot_be_written_to_is_named_with_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("cache"), "a file").unwrap();
        let error = cache(dir.path(), 1 << 20).put("a", 0, &[1]).unwrap_err();
        assert!(super::super::failure::is_failure(&error));
        let text = error.to_string();
        assert!(
            text.contains("--data-cache-gib") && text.contains("cache, found"),
            "{text}"
        );
    }
}
