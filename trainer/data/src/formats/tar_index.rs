//! Index of the members of a tar, grouped into records, without reading their contents.

use std::cell::Cell;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

use espalier_io::storage::{ShardFile, ShardReader};

use crate::records::fault::{Cause, Fault};
use crate::records::picture::ByteRange;

/// Consecutive members with the same key: the text before the first dot of the base name, with
/// the folders before it (notation 5.2).
#[derive(Clone, Debug)]
pub struct MemberGroup {
    /// The key.
    pub key: String,
    /// Extension (everything after the first dot, in lower case) and byte range of each member.
    pub members: Vec<(String, ByteRange)>,
}

impl MemberGroup {
    /// Returns the member with this extension.
    #[must_use]
    pub fn get(&self, extension: &str) -> Option<&ByteRange> {
        self.members
            .iter()
            .find(|(name, _)| name == extension)
            .map(|(_, range)| range)
    }

    /// Returns whether there is a member with this extension.
    #[must_use]
    pub fn has(&self, extension: &str) -> bool {
        self.get(extension).is_some()
    }
}

/// Result of scanning the headers of a tar.
#[derive(Debug)]
pub struct TarIndex {
    /// All groups whose members are inside the file.
    pub groups: Vec<MemberGroup>,
    /// The reason why the scan ended before the end of the archive, if it did.
    pub truncation: Option<Fault>,
    /// Key of the member at which the scan ended, if its header could be read.
    pub truncated_key: Option<String>,
}

/// A reader that records when a read reaches the end of the shard.
struct EofReader<'a> {
    file: ShardReader,
    reached_end: &'a Cell<bool>,
}

impl Read for EofReader<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let read = self.file.read(bytes)?;
        if read == 0 && !bytes.is_empty() {
            self.reached_end.set(true);
        }
        Ok(read)
    }
}

impl Seek for EofReader<'_> {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.file.seek(to)
    }
}

/// Scans the headers of a tar and seeks over the data.
///
/// A complete archive ends with a block of zeros. For a truncated archive the scan reaches the end
/// of the file instead; its complete members are kept. A damaged header is handled the same way.
///
/// # Errors
/// Only if storage fails.
pub fn index(file: &Arc<ShardFile>) -> std::io::Result<TarIndex> {
    let len = file.size()?;
    // Headers lie between the members, so nearly every block of an object is needed.
    file.prefetch(std::slice::from_ref(&(0..len)))?;
    let reached_end = Cell::new(false);
    let mut archive = tar::Archive::new(EofReader {
        file: ShardReader::new(Arc::clone(file), 0),
        reached_end: &reached_end,
    });
    let mut groups: Vec<MemberGroup> = Vec::new();
    let (mut truncation, mut truncated_key) = (None, None);
    for entry in archive.entries_with_seek()? {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                if let Some(failure) = file.failure() {
                    return Err(failure);
                }
                if !reached_end.get() {
                    truncation = Some(Fault::new(Cause::ShardDamaged, error.to_string()));
                }
                break;
            }
        };
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let Some((key, extension)) = split(&name) else {
            continue;
        };
        let (offset, size) = (entry.raw_file_position(), entry.size());
        if offset.checked_add(size).is_none_or(|end| end > len) {
            reached_end.set(true);
            truncated_key = Some(key.to_owned());
            break;
        }
        let member = (
            extension.to_lowercase(),
            ByteRange {
                file: Arc::clone(file),
                offset,
                len: size,
            },
        );
        match groups.last_mut() {
            Some(group) if group.key == key => group.members.push(member),
            _ => groups.push(MemberGroup {
                key: key.to_owned(),
                members: vec![member],
            }),
        }
    }
    if truncation.is_none() && reached_end.get() {
        let detail = format!("the file ends after {len} bytes, before the end of the archive");
        truncation = Some(Fault::new(Cause::ShardEndsEarly, detail));
    }
    Ok(TarIndex {
        groups,
        truncation,
        truncated_key,
    })
}

/// Splits a member name into key and extension; `None` for hidden files and names without
/// extension.
fn split(name: &str) -> Option<(&str, &str)> {
    let name = name.strip_prefix("./").unwrap_or(name);
    let base = name.rfind('/').map_or(0, |slash| slash + 1);
    let dot = base + name[base..].find('.')?;
    (dot > base).then(|| (&name[..dot], &name[dot + 1..]))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_key_ends_at_the_first_dot_of_the_base_name() {
        assert_eq!(split("0001.child.jpg"), Some(("0001", "child.jpg")));
        assert_eq!(split("./a.b/0001.jpg"), Some(("a.b/0001", "jpg")));
        assert_eq!(split("README"), None);
        assert_eq!(split("x/.hidden.jpg"), None);
    }

    fn tar_bytes() -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, size) in [("1.jpg", 700), ("1.txt", 3), ("2.jpg", 512), ("2.txt", 0)] {
            let mut header = tar::Header::new_gnu();
            header.set_size(size);
            header.set_cksum();
            builder
                .append_data(&mut header, name, vec![7_u8; size as usize].as_slice())
                .unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn index_of(bytes: &[u8]) -> TarIndex {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.tar");
        std::fs::write(&path, bytes).unwrap();
        index(&ShardFile::open(&path).unwrap()).unwrap()
    }

    #[test]
    fn a_complete_archive_is_not_truncated() {
        let index = index_of(&tar_bytes());
        assert!(index.truncation.is_none());
        let shape: Vec<_> = index
            .groups
            .iter()
            .map(|g| (g.key.as_str(), g.members.len()))
            .collect();
        assert_eq!(shape, [("1", 2), ("2", 2)]);
        assert!(index.groups[0].has("txt") && !index.groups[0].has("json"));
        assert_eq!(
            index.groups[0].get("jpg").unwrap().read().unwrap(),
            vec![7; 700]
        );
    }

    #[test]
    fn complete_members_of_a_truncated_archive_are_kept() {
        // Headers at 0, 1536, 2560, 3584; data ends at 1212, 2051, 3584, 4096.
        let bytes = tar_bytes();
        let cases = [
            (0, 0, None),
            (100, 0, None),
            (512, 0, Some("1")),
            (1211, 0, Some("1")),
            (1212, 1, None),
            (1536, 1, None),
            (2000, 1, None),
            (2051, 2, None),
            (3000, 2, None),
            (3200, 2, Some("2")),
            (3584, 3, None),
            (4096, 4, None),
        ];
        for (len, members, key) in cases {
            let index = index_of(&bytes[..len]);
            let member_count: usize = index.groups.iter().map(|g| g.members.len()).sum();
            assert_eq!(member_count, members, "truncated at {len}");
            assert_eq!(
                index.truncation.map(|f| f.cause),
                Some(Cause::ShardEndsEarly),
                "truncated at {len}"
            );
            if key.is_some() {
                assert_eq!(index.truncated_key.as_deref(), key, "truncated at {len}");
            }
        }
    }

    #[test]
    fn a_damaged_header_ends_the_scan() {
        let mut bytes = tar_bytes();
        bytes[2560] ^= 0xFF;
        let index = index_of(&bytes);
        assert_eq!(index.groups.len(), 1);
        assert_eq!(index.truncation.unwrap().cause, Cause::ShardDamaged);
    }
}
