//! Compressed shards on disk (`.tar.gz`, `.tar.zst`): unpacked into a file without a name, which the process keeps,
//! because members are read at any position.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use flate2::read::MultiGzDecoder;

/// Largest ratio of unpacked to packed bytes; photos hardly shrink, texts by a factor of ten.
const MAX_RATIO: u64 = 200;
/// Unpacked bytes that any file may have.
const SMALL: u64 = 64 << 20;

/// A file by its path, its length and when it was changed.
type Key = (PathBuf, u64, Option<SystemTime>);

/// Most files that are kept, and most bytes of them together; the oldest go first.
const MAX_FILES: usize = 512;
const MAX_BYTES: u64 = 64 << 30;

/// A file that was unpacked: what it was, its content, and the bytes of that.
type Unpacked = (Key, Arc<File>, u64);

static UNPACKED: Mutex<VecDeque<Unpacked>> = Mutex::new(VecDeque::new());

/// Compression of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    Gzip,
    Zstd,
}

impl Compression {
    fn of(start: [u8; 4]) -> Option<Self> {
        match start {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd] => Some(Self::Zstd),
            _ => None,
        }
    }
}

/// Returns the content of a compressed file; `None` for a file that is not compressed.
///
/// # Errors
/// The system's; for a damaged file, or one that unpacks to an implausible size.
pub(super) fn open(path: &Path, mut packed: &File) -> io::Result<Option<Arc<File>>> {
    let mut start = [0; 4];
    let is_compressed = match packed.read_exact(&mut start) {
        Ok(()) => Compression::of(start),
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => None,
        Err(e) => return Err(e),
    };
    let Some(compression) = is_compressed else {
        return Ok(None);
    };
    packed.seek(SeekFrom::Start(0))?;
    let about = packed.metadata()?;
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let key = (path, about.len(), about.modified().ok());
    // Held while unpacking: a second reader of the same file waits for the first.
    let mut known = UNPACKED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, file, _)) = known.iter().find(|(other, ..)| *other == key) {
        return Ok(Some(Arc::clone(file)));
    }
    let limit = SMALL.max(about.len().saturating_mul(MAX_RATIO));
    let mut reader: Box<dyn Read> = match compression {
        Compression::Gzip => Box::new(MultiGzDecoder::new(io::BufReader::new(packed))),
        Compression::Zstd => Box::new(zstd::stream::read::Decoder::new(packed)?),
    };
    let mut file = tempfile::tempfile()?;
    let written = io::copy(&mut reader.by_ref().take(limit + 1), &mut file)?;
    if written > limit {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!(
                "expected at most {} MiB after unpacking {} bytes, found more",
                limit >> 20,
                about.len()
            ),
        ));
    }
    let file = Arc::new(file);
    known.push_back((key, Arc::clone(&file), written));
    let bytes = |known: &VecDeque<Unpacked>| known.iter().map(|(.., bytes)| bytes).sum::<u64>();
    while known.len() > MAX_FILES || known.len() > 1 && bytes(&known) > MAX_BYTES {
        known.pop_front();
    }
    Ok(Some(file))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::write::GzEncoder;

    use super::super::ShardFile;

    #[test]
    fn compressed_files_are_read_at_any_position_and_bombs_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let content: Vec<u8> = (0..100_000_u32).map(|n| ((n * n) >> 7) as u8).collect();
        let gzip = |content: &[u8]| {
            let mut packed = GzEncoder::new(Vec::new(), flate2::Compression::best());
            packed.write_all(content).unwrap();
            packed.finish().unwrap()
        };
        let zstd = zstd::stream::encode_all(content.as_slice(), 3).unwrap();
        for (name, packed) in [("a.tar.gz", gzip(&content)), ("a.tar.zst", zstd)] {
            let path = dir.path().join(name);
            std::fs::write(&path, &packed).unwrap();
            for _ in 0..2 {
                let file = ShardFile::open(&path).unwrap();
                assert_eq!(file.size().unwrap(), 100_000);
                let mut bytes = [0; 50];
                file.read_exact_at(&mut bytes, 70_000).unwrap();
                assert_eq!(bytes, content[70_000..70_050]);
            }
            std::fs::write(&path, &packed[..packed.len() / 2]).unwrap();
            assert!(ShardFile::open(&path).is_err(), "{name} was cut off");
        }
        let path = dir.path().join("b.tar.gz");
        std::fs::write(&path, gzip(&vec![0; 80 << 20])).unwrap();
        let error = ShardFile::open(&path).unwrap_err().to_string();
        assert!(error.contains("at most 64 MiB"), "{error}");
    }
}
