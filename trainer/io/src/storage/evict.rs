//! Removes the oldest blocks of the cache.

use std::fs::{self, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Age at which a temporary file belongs to a process that was killed.
const ABANDONED: Duration = Duration::from_secs(3600);

/// Removes the oldest files of the cache until at most `limit` bytes are left. Another process that
/// does so at the same time does it for this one too.
///
/// # Errors
/// If the folder cannot be read.
pub(super) fn evict(folder: &Path, limit: u64) -> io::Result<()> {
    let lock = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(folder.join("lock"))?;
    // A file system without locks only lets two processes remove the same files.
    if matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) {
        return Ok(());
    }
    let now = SystemTime::now();
    let mut total = 0;
    let mut files: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
    for object in fs::read_dir(folder)?.flatten().map(|entry| entry.path()) {
        // Files may disappear meanwhile, and the lock is no folder.
        let Ok(blocks) = fs::read_dir(&object) else {
            continue;
        };
        let mut is_empty = true;
        for block in blocks.flatten() {
            is_empty = false;
            let Ok(found) = block.metadata() else {
                continue;
            };
            let modified = found.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            let is_temporary = block.path().extension().is_some();
            let age = now.duration_since(modified).unwrap_or_default();
            if is_temporary && age > ABANDONED {
                let _ = fs::remove_file(block.path());
            } else if !is_temporary {
                total += found.len();
                files.push((modified, found.len(), block.path()));
            }
        }
        if is_empty {
            let _ = fs::remove_dir(&object);
        }
    }
    files.sort();
    for (_, bytes, path) in files {
        if total <= limit {
            break;
        }
        // A file that cannot be removed now, for example because it is open on Windows, is tried
        // again next time.
        if fs::remove_file(&path).is_ok() {
            total -= bytes;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_killed_processes_left_is_removed_and_new_temporary_files_stay() {
        let dir = tempfile::tempdir().unwrap();
        let object = dir.path().join("a");
        fs::create_dir_all(&object).unwrap();
        fs::create_dir(dir.path().join("empty")).unwrap();
        for name in ["00000000", "00000001.9-0.tmp", "00000002.9-1.tmp"] {
            fs::write(object.join(name), [0; 10]).unwrap();
        }
        let old = fs::File::options()
            .write(true)
            .open(object.join("00000001.9-0.tmp"));
        let long_ago = SystemTime::now() - 2 * ABANDONED;
        old.unwrap().set_modified(long_ago).unwrap();
        evict(dir.path(), 10).unwrap();
        assert!(object.join("00000000").exists() && object.join("00000002.9-1.tmp").exists());
        assert!(!object.join("00000001.9-0.tmp").exists());
        assert!(!dir.path().join("empty").exists());
        evict(dir.path(), 9).unwrap();
        assert!(!object.join("00000000").exists());
    }
}
