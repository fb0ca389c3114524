//! One shard, open for reading, on disk or in object storage.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::address::is_remote;
#[cfg(not(feature = "cloud"))]
use super::address::not_built;
#[cfg(feature = "cloud")]
use super::object::{BLOCK, RemoteObject};
use super::{traffic, unpacked};
use crate::disk::read;

/// A shard that is open for reading.
#[derive(Debug)]
pub struct ShardFile(Source);

#[derive(Debug)]
enum Source {
    Local(Arc<File>),
    #[cfg(feature = "cloud")]
    Remote(Arc<RemoteObject>),
}

impl ShardFile {
    /// Opens a regular file, or the object at an address. A compressed file is opened as what it contains.
    ///
    /// An object that this process has opened before is opened as it was then: reading fails if it
    /// has changed since.
    ///
    /// # Errors
    /// The system's; a failure of storage ([`is_failure`](super::is_failure)).
    pub fn open(path: &Path) -> io::Result<Arc<Self>> {
        if is_remote(path) {
            #[cfg(feature = "cloud")]
            return Ok(Arc::new(Self(Source::Remote(RemoteObject::open(path)?))));
            #[cfg(not(feature = "cloud"))]
            return Err(not_built(path));
        }
        let file = read::open(path)?;
        let file = unpacked::open(path, &file)?.unwrap_or_else(|| Arc::new(file));
        Ok(Arc::new(Self(Source::Local(file))))
    }

    /// Returns the number of bytes.
    ///
    /// # Errors
    /// The system's.
    pub fn size(&self) -> io::Result<u64> {
        match &self.0 {
            Source::Local(file) => Ok(file.metadata()?.len()),
            #[cfg(feature = "cloud")]
            Source::Remote(object) => Ok(object.size),
        }
    }

    /// Returns a text that is equal for the same content of an object; `None` for a local file.
    pub(super) fn version(&self) -> Option<String> {
        match &self.0 {
            Source::Local(_) => None,
            #[cfg(feature = "cloud")]
            Source::Remote(object) => Some(object.name.clone()),
        }
    }

    /// Fills `bytes` from `offset` on.
    ///
    /// # Errors
    /// The system's, [`io::ErrorKind::UnexpectedEof`] past the end, or a failure of storage.
    pub fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        match &self.0 {
            Source::Local(file) => read_exact_at(file, bytes, offset)?,
            #[cfg(feature = "cloud")]
            Source::Remote(object) => object.read_exact_at(bytes, offset)?,
        }
        traffic::add_read(bytes.len());
        Ok(())
    }

    /// Fetches ranges that are about to be read, in few large requests. Does nothing for a local file.
    ///
    /// # Errors
    /// A failure of storage.
    pub fn prefetch(&self, ranges: &[Range<u64>]) -> io::Result<()> {
        match &self.0 {
            Source::Local(_) => {
                let _ = ranges;
                Ok(())
            }
            #[cfg(feature = "cloud")]
            Source::Remote(object) => ranges.iter().try_for_each(|r| object.prefetch(r.clone())),
        }
    }

    /// Returns the last failure of storage, if there was one: a reader of a format may have turned it
    /// into an error of its own.
    pub fn failure(&self) -> Option<io::Error> {
        match &self.0 {
            Source::Local(_) => None,
            #[cfg(feature = "cloud")]
            Source::Remote(object) => object.failure(),
        }
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let read = std::os::windows::fs::FileExt::seek_read(file, bytes, offset)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes = &mut bytes[read..];
        offset += read as u64;
    }
    Ok(())
}

/// A position in a shard. Bytes of an object are read a block at a time; the last block is kept.
#[derive(Debug)]
pub struct ShardReader {
    file: Arc<ShardFile>,
    position: u64,
    #[cfg(feature = "cloud")]
    block: Option<(u64, Vec<u8>)>,
}

impl ShardReader {
    /// Creates a reader that begins at `position`.
    pub fn new(file: Arc<ShardFile>, position: u64) -> Self {
        Self {
            file,
            position,
            #[cfg(feature = "cloud")]
            block: None,
        }
    }
}

impl Read for ShardReader {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let left = self.file.size()?.saturating_sub(self.position);
        let wanted = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        if wanted == 0 {
            return Ok(0);
        }
        let read = match &self.file.0 {
            Source::Local(file) => {
                read_exact_at(file, &mut bytes[..wanted], self.position)?;
                wanted
            }
            #[cfg(feature = "cloud")]
            Source::Remote(object) => {
                let index = self.position / BLOCK;
                if self.block.as_ref().is_none_or(|(held, _)| *held != index) {
                    self.block = Some((index, object.block(index)?));
                }
                let block = self.block.as_ref().map_or(&[][..], |(_, block)| block);
                let from = (self.position % BLOCK) as usize;
                let part = block.get(from..).unwrap_or_default();
                let read = wanted.min(part.len());
                bytes[..read].copy_from_slice(&part[..read]);
                read
            }
        };
        traffic::add_read(read);
        self.position += read as u64;
        Ok(read)
    }
}

impl Seek for ShardReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (base, offset) = match to {
            SeekFrom::Start(position) => (position, 0),
            SeekFrom::Current(offset) => (self.position, offset),
            SeekFrom::End(offset) => (self.file.size()?, offset),
        };
        self.position = base.checked_add_signed(offset).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "a position before the start")
        })?;
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_shard_is_read_at_any_position() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.tar");
        std::fs::write(&path, b"0123456789").unwrap();
        let file = ShardFile::open(&path).unwrap();
        assert_eq!(file.size().unwrap(), 10);
        let mut two = [0; 2];
        file.read_exact_at(&mut two, 8).unwrap();
        assert_eq!(&two, b"89");
        let error = file.read_exact_at(&mut two, 9).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        let mut reader = ShardReader::new(Arc::clone(&file), 4);
        let mut rest = String::new();
        reader.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "456789");
        assert_eq!(reader.seek(SeekFrom::End(-3)).unwrap(), 7);
        assert!(reader.seek(SeekFrom::Current(-8)).is_err());
        reader.seek(SeekFrom::Start(20)).unwrap();
        assert_eq!(reader.read(&mut two).unwrap(), 0);
    }

    #[cfg(not(feature = "cloud"))]
    #[test]
    fn without_the_feature_an_address_is_refused_with_the_way_to_build_it() {
        for path in ["s3://b/a.tar", "https://h/a.parquet"] {
            let error = ShardFile::open(Path::new(path)).unwrap_err();
            assert!(super::super::failure::is_failure(&error));
            let text = error.to_string();
            assert!(
                text.contains(path) && text.contains("--features cloud"),
                "{text}"
            );
        }
    }
}
