//! Reads files that `torch.save` wrote before PyTorch 1.6: a sequence of pickles, then the numbers
//! of every storage.
//!
//! The pickles are: 1. a magic number, 2. the version 1001, 3. properties of the machine that wrote
//! the file, 4. the value, which describes tensors, 5. the keys of the storages. Then follow, for
//! each key in that order, the count of its numbers (eight bytes) and the numbers.
//!
//! Nothing in the pickles is executed, see [`super::pickle`].

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use espalier_io::exit::usage;

use super::dictionary::{self, Weights};
use super::pickle::{self, Arena, Node, Ref, Storage};

/// First bytes of every such file: a pickle of the magic number.
pub const MAGIC: &[u8] = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";

/// The only version of the format.
const VERSION: usize = 1001;

/// An open file.
pub struct LegacyFile {
    path: PathBuf,
    bytes: Vec<u8>,
    pub(super) weights: Weights,
    /// Byte range of each storage in the file.
    storages: BTreeMap<String, Range<usize>>,
}

/// Reads consecutive pickles.
struct Pickles<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Pickles<'_> {
    fn next(&mut self, what: &str) -> Result<(Arena, Ref), String> {
        let (arena, top, used) = pickle::read_first(&self.bytes[self.at..])
            .map_err(|e| format!("{what}, starting at byte {}: {e}", self.at))?;
        self.at += used;
        Ok((arena, top))
    }
}

/// Checks the version and that numbers are little-endian.
fn check_head(pickles: &mut Pickles<'_>) -> Result<(), String> {
    let (arena, top) = pickles.next("its version")?;
    if arena.size(top) != Some(VERSION) {
        return Err(format!(
            "expected version {VERSION}, found {:?}",
            arena.get(top)
        ));
    }
    let (arena, top) = pickles.next("the properties of the machine that wrote it")?;
    let order = arena.lookup(top, "little_endian").map(|at| arena.get(at));
    if order != Some(&Node::Bool(true)) {
        return Err(format!(
            "expected little_endian to be true, found {order:?}"
        ));
    }
    Ok(())
}

/// Returns the byte range of every storage. `sizes` gives, for each key, the bytes of one number
/// and the count of numbers.
fn storage_ranges(
    bytes: &[u8],
    mut at: usize,
    keys: &[&str],
    sizes: &BTreeMap<String, (usize, usize)>,
) -> Result<BTreeMap<String, Range<usize>>, String> {
    let mut ranges = BTreeMap::new();
    for key in keys {
        let (bytes_each, expected) = *sizes
            .get(*key)
            .ok_or_else(|| format!("no tensor uses the storage `{key}`"))?;
        let head = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>());
        let count = head.map(|head| u64::from_le_bytes(*head));
        if count != Some(expected as u64) {
            return Err(format!(
                "storage `{key}`: expected {expected} numbers, found {count:?}; the file is \
                 truncated or corrupt"
            ));
        }
        let start = at + 8;
        let end = expected
            .checked_mul(bytes_each)
            .and_then(|length| start.checked_add(length))
            .filter(|end| *end <= bytes.len())
            .ok_or_else(|| format!("the storage `{key}` is truncated"))?;
        ranges.insert((*key).to_owned(), start..end);
        at = end;
    }
    match bytes.len() - at {
        0 => Ok(ranges),
        more => Err(format!("found {more} bytes after the last storage")),
    }
}

impl LegacyFile {
    /// Reads a file; `path` names it in messages.
    ///
    /// # Errors
    /// Bad usage naming the file: another format, truncated, or a pickle that names anything not
    /// needed to describe tensors.
    pub fn open(path: &Path, bytes: Vec<u8>) -> anyhow::Result<Self> {
        Self::read_index(path, bytes).map_err(|reason| {
            usage(format!(
                "{}: expected a PyTorch file of tensors: {reason}",
                path.display()
            ))
        })
    }

    fn read_index(path: &Path, bytes: Vec<u8>) -> Result<Self, String> {
        if !bytes.starts_with(MAGIC) {
            return Err("it does not start with PyTorch's magic number".into());
        }
        let mut pickles = Pickles {
            bytes: &bytes,
            at: MAGIC.len(),
        };
        check_head(&mut pickles)?;
        let (arena, top) = pickles.next("its value")?;
        let weights = dictionary::find(&arena, top)?;
        // All storages, including those of an optimiser next to the weights.
        let mut sizes = BTreeMap::new();
        for Storage { key, number, len } in arena.storages() {
            let size = (number.bytes(), *len);
            if sizes
                .insert(key.clone(), size)
                .is_some_and(|old| old != size)
            {
                return Err(format!("two storages are called `{key}`"));
            }
        }
        let (arena, top) = pickles.next("the keys of its storages")?;
        let keys = arena.parts(top).unwrap_or_default();
        let keys: Option<Vec<&str>> = keys.iter().map(|key| arena.text(*key)).collect();
        let keys = keys.ok_or("a key of a storage is not a string")?;
        let storages = storage_ranges(&bytes, pickles.at, &keys, &sizes)?;
        Ok(Self {
            path: path.to_owned(),
            weights,
            storages,
            bytes,
        })
    }

    /// Reads the numbers of a tensor in row-major order.
    ///
    /// # Errors
    /// Bad usage: no such tensor, not floats, or a storage that the file lacks.
    pub fn read(&self, name: &str) -> anyhow::Result<Vec<f32>> {
        let numbers = || {
            let view = self.weights.tensors.get(name).ok_or("not found")?;
            let place = self.storages.get(&view.storage.key);
            let place = place.ok_or("its storage is not in the file")?.clone();
            view.gather(&view.storage.number.decode(&self.bytes[place])?)
        };
        numbers()
            .map_err(|e: String| usage(format!("{}: tensor `{name}`: {e}", self.path.display())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `torch.save({"w": torch.tensor([[1., 2., 3.], [4., 5., 6.]]).t()}, ..., legacy)` by hand.
    fn file() -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend(b"\x80\x02M\xe9\x03.");
        out.extend(b"\x80\x02}X\x0d\0\0\0little_endian\x88s.");
        out.extend(b"\x80\x02}X\x01\0\0\0wctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storage");
        out.extend(b"ctorch\nFloatStorage\nX\x02\0\0\x0077X\x03\0\0\0cpuK\x06NtQK\0K\x03K\x02\x86");
        out.extend(b"K\x01K\x03\x86\x89ccollections\nOrderedDict\n)RtRs.");
        out.extend(b"\x80\x02]X\x02\0\0\x0077a.");
        out.extend(6_u64.to_le_bytes());
        out.extend((1..=6).flat_map(|n| (n as f32).to_le_bytes()));
        out
    }

    #[test]
    fn tensors_are_read_through_their_strides() {
        let file = LegacyFile::open(Path::new("w.pth"), file()).unwrap();
        assert_eq!(file.weights.shapes(), [("w".to_owned(), vec![3, 2])]);
        assert_eq!(file.read("w").unwrap(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        assert!(file.read("v").unwrap_err().to_string().contains("`v`"));
    }

    #[test]
    fn a_truncated_file_is_an_error_at_every_length() {
        let complete = file();
        for length in 0..complete.len() {
            let truncated = complete[..length].to_vec();
            assert!(
                LegacyFile::open(Path::new("w.pth"), truncated).is_err(),
                "{length}"
            );
        }
        let mut longer = complete;
        longer.push(0);
        let message = LegacyFile::open(Path::new("w.pth"), longer).err().unwrap();
        assert!(message.to_string().contains("1 bytes after"), "{message}");
    }
}
