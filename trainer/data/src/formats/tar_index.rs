//! Index of the members of a tar, grouped into records, without reading their contents.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use espalier_io::disk::content;
use espalier_io::storage::{ShardFile, ShardReader};

use crate::formats::caption_texts;
use crate::records::fault::{Cause, Fault};
use crate::records::record_image::ByteRange;
use crate::records::walk::{self, EXTENSIONS, HIDDEN, LeftOut};

/// Rule for members that are neither files nor folders.
const SPECIAL: &str = "member that is neither a file nor a folder";
/// Rule for members without an extension.
const NO_EXTENSION: &str = "member without an extension";
/// Rule for earlier members of a name that occurs again.
const REPEATED: &str = "member of a name that occurs again (the last one is read)";

/// Extensions of the texts of a record.
pub(super) const TEXTS: [&str; 5] = ["txt", "text", "caption", "json", "cls"];

/// Members with the same key: the text before the first dot of the base name, with the folders before it
/// (notation 5.2).
#[derive(Clone, Debug)]
pub struct MemberGroup {
    /// The key.
    pub key: String,
    /// Extension (everything after the first dot, in lower case) and byte range of each member.
    pub members: Vec<(String, ByteRange)>,
}

impl MemberGroup {
    /// Returns the member with this extension.
    pub fn get(&self, extension: &str) -> Option<&ByteRange> {
        self.members
            .iter()
            .find(|(name, _)| name == extension)
            .map(|(_, range)| range)
    }

    /// Returns the member with this extension, or a fault if there is none.
    pub fn required(&self, extension: &str) -> Result<&ByteRange, Fault> {
        let missing = || Fault::new(Cause::MissingMember, format!(".{extension}"));
        self.get(extension).ok_or_else(missing)
    }

    /// Returns the caption, if a member of its own has it.
    pub fn caption(&self) -> Option<&ByteRange> {
        caption_texts::EXTENSIONS
            .iter()
            .find_map(|extension| self.get(extension))
    }

    /// Returns whether there is a member with this extension.
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
    /// Members that belong to no record, by the rule that leaves them out.
    pub left_out: LeftOut,
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
    let mut members: Vec<(String, ByteRange)> = Vec::new();
    let mut left_out = LeftOut::new();
    let (mut truncation, mut truncated_name) = (None, None);
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
        let name = walk::shown(&entry.path()?);
        let kind = entry.header().entry_type();
        if !kind.is_file() {
            let is_other = !kind.is_dir();
            walk::leave_out(&mut left_out, SPECIAL, is_other.into(), Path::new(&name));
            continue;
        }
        let (offset, len_of_member) = (entry.raw_file_position(), entry.size());
        let end = offset.checked_add(len_of_member);
        if end.is_none_or(|end| end > len) {
            reached_end.set(true);
            truncated_name = Some(name);
            break;
        }
        let mut parts = name.split('/').filter(|part| *part != ".");
        if parts.any(walk::is_hidden) {
            walk::leave_out(&mut left_out, HIDDEN, 1, Path::new(&name));
            continue;
        }
        let range = ByteRange {
            file: Arc::clone(file),
            offset,
            len: len_of_member,
        };
        members.push((name, range));
    }
    if truncation.is_none() && reached_end.get() {
        let detail = format!("the file ends after {len} bytes, before the end of the archive");
        truncation = Some(Fault::new(Cause::ShardEndsEarly, detail));
    }
    if members.is_empty()
        && let Some(fault) = &mut truncation
        && len > 0
        && let Some(content) = recognised(file)?
    {
        *fault = Fault::new(Cause::ShardDamaged, format!("expected a tar, {content}"));
    }
    let keys = Keys::of(members.iter().map(|(name, _)| name.as_str()));
    let truncated_key = truncated_name.and_then(|name| Some(keys.split(&name)?.0.to_owned()));
    Ok(TarIndex {
        groups: grouped(members, &keys, &mut left_out),
        truncation,
        truncated_key,
        left_out,
    })
}

/// Describes content that is no tar, by its first bytes.
fn recognised(file: &Arc<ShardFile>) -> std::io::Result<Option<String>> {
    let mut head = Vec::new();
    ShardReader::new(Arc::clone(file), 0)
        .take(content::HEAD as u64)
        .read_to_end(&mut head)?;
    let is_tar = head.get(257..262) == Some(b"ustar");
    let found = content::recognise(&head).filter(|_| !is_tar);
    Ok(found.map(|_| content::describe(&head)))
}

/// Groups members into records. The members of a record need not be neighbours; a key whose members begin again
/// later is another record.
fn grouped(
    members: Vec<(String, ByteRange)>,
    keys: &Keys,
    left_out: &mut LeftOut,
) -> Vec<MemberGroup> {
    let mut groups: Vec<MemberGroup> = Vec::new();
    let mut of_key: HashMap<String, usize> = HashMap::new();
    for (name, range) in members {
        let Some((key, extension)) = keys.split(&name) else {
            walk::leave_out(left_out, NO_EXTENSION, 1, Path::new(&name));
            continue;
        };
        let extension = extension.to_lowercase();
        let last = groups.len().checked_sub(1);
        let at = of_key.get(key).copied();
        let again = at.and_then(|at| {
            let mut members = groups[at].members.iter();
            Some((at, members.position(|(e, _)| *e == extension)?))
        });
        match (at, again) {
            // As unpacking the tar does, which writes the later one over the earlier one.
            (Some(_), Some((at, member))) if Some(at) == last => {
                walk::leave_out(left_out, REPEATED, 1, Path::new(&name));
                groups[at].members[member].1 = range;
            }
            (Some(at), None) => groups[at].members.push((extension, range)),
            _ => {
                of_key.insert(key.to_owned(), groups.len());
                groups.push(MemberGroup {
                    key: key.to_owned(),
                    members: vec![(extension, range)],
                });
            }
        }
    }
    groups
}

/// How the names of an archive are split into key and extension.
///
/// A key ends at the first dot of the base name, as in WebDataset. Names such as `photo 2.0.jpg`, where no member
/// of the key `photo 2` would have an extension that is known, are split at the last dot.
struct Keys(HashSet<String>);

impl Keys {
    fn of<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let known = names.filter_map(split_at_first_dot);
        let known = known.filter(|(_, extension)| is_known(extension));
        Self(known.map(|(key, _)| key.to_owned()).collect())
    }

    /// Splits a name; `None` for names without extension.
    fn split<'a>(&self, name: &'a str) -> Option<(&'a str, &'a str)> {
        let at_first = split_at_first_dot(name)?;
        if self.0.contains(at_first.0) {
            return Some(at_first);
        }
        let at_last = plain(name).rsplit_once('.');
        at_last
            .filter(|(_, last)| is_known(last))
            .or(Some(at_first))
    }
}

/// Returns whether an extension is one of a record: an image, its texts, its class, or a part of a prepared record.
fn is_known(extension: &str) -> bool {
    let extension = extension.to_lowercase();
    let (first, rest) = extension.split_once('.').unwrap_or(("", &extension));
    let is_part = first.is_empty()
        || first == "child"
        || first
            .strip_prefix("parent")
            .is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()));
    extension == "numparents.txt"
        || is_part && (EXTENSIONS.contains(&rest) || TEXTS.contains(&rest))
}

/// Returns a member name without the folder `.` that some programs put in front.
fn plain(name: &str) -> &str {
    name.strip_prefix("./").unwrap_or(name)
}

/// Splits a member name at the first dot of its base name.
fn split_at_first_dot(name: &str) -> Option<(&str, &str)> {
    let name = plain(name);
    let base = name.rfind('/').map_or(0, |slash| slash + 1);
    let dot = base + name[base..].find('.')?;
    (dot > base).then(|| (&name[..dot], &name[dot + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_files::{folder, tar_of};

    #[test]
    fn the_key_ends_at_the_first_dot_of_the_base_name_where_the_rest_is_known() {
        let names = [
            ("0001.child.jpg", Some(("0001", "child.jpg"))),
            ("0001.parent000.txt", Some(("0001", "parent000.txt"))),
            ("./a.b/0001.jpg", Some(("a.b/0001", "jpg"))),
            ("./a.b/0001.seg.png", Some(("a.b/0001", "seg.png"))),
            ("photo 2.0 (v1.0).jpg", Some(("photo 2.0 (v1.0)", "jpg"))),
            ("photo 2.0 (v1.0).txt", Some(("photo 2.0 (v1.0)", "txt"))),
            ("x/3.1.depth.npy", Some(("x/3", "1.depth.npy"))),
            ("README", None),
        ];
        let keys = Keys::of(names.iter().map(|(name, _)| *name));
        for (name, expected) in names {
            assert_eq!(keys.split(name), expected);
        }
    }

    /// Returns the key of each record with the extensions and sizes of its members: `1 jpg=5 txt=3`.
    fn records(members: &[(&str, usize)]) -> (Vec<String>, LeftOut) {
        let index = index_of(&tar_of_sizes(members));
        assert!(index.truncation.is_none());
        let of = |group: MemberGroup| {
            let members = group.members.iter();
            let sizes = members.map(|(extension, range)| format!(" {extension}={}", range.len));
            group.key + &sizes.collect::<String>()
        };
        (index.groups.into_iter().map(of).collect(), index.left_out)
    }

    #[test]
    fn members_of_a_record_need_not_be_neighbours_and_the_last_of_a_name_is_read() {
        let (found, left_out) = records(&[
            ("2.jpg", 5),
            ("1.txt", 3),
            ("1.jpg", 7),
            ("1.jpg", 8),
            ("2.txt", 4),
            ("._2.jpg", 1),
            ("README", 1),
        ]);
        assert_eq!(found, ["2 jpg=5 txt=4", "1 txt=3 jpg=8"]);
        for rule in [HIDDEN, REPEATED, NO_EXTENSION] {
            assert_eq!(left_out[rule].count, 1, "{rule}");
        }
    }

    #[test]
    fn a_key_that_begins_again_is_another_record() {
        let (found, left_out) = records(&[
            ("1.jpg", 5),
            ("1.txt", 3),
            ("2.jpg", 2),
            ("1.jpg", 7),
            ("1.txt", 8),
        ]);
        assert_eq!(found, ["1 jpg=5 txt=3", "2 jpg=2", "1 jpg=7 txt=8"]);
        assert!(left_out.is_empty());
    }

    #[test]
    fn content_that_is_no_tar_is_named() {
        let index = index_of(b"<!DOCTYPE html><html>404</html>");
        let detail = index.truncation.unwrap().detail;
        assert!(detail.contains("found a web page"), "{detail}");
    }

    fn tar_bytes() -> Vec<u8> {
        tar_of_sizes(&[("1.jpg", 700), ("1.txt", 3), ("2.jpg", 512), ("2.txt", 0)])
    }

    fn tar_of_sizes(members: &[(&str, usize)]) -> Vec<u8> {
        let members = members
            .iter()
            .map(|(name, size)| (*name, vec![7_u8; *size]));
        tar_of(&members.collect::<Vec<_>>())
    }

    fn index_of(bytes: &[u8]) -> TarIndex {
        let dir = folder(&[("x.tar", bytes)]);
        index(&ShardFile::open(&dir.path().join("x.tar")).unwrap()).unwrap()
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
