//! Writes large safetensors files tensor by tensor, so that a model is never in memory twice.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;
use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use anyhow::Context;
use espalier_core::weights::{HostTensor, sort_header};
use safetensors::tensor::View;
use safetensors::{Dtype, serialize_to_file};

use super::temporary::Temporary;
use super::write::temporary_name;

/// A tensor to write.
#[derive(Clone, Debug)]
pub enum Stored {
    /// 32-bit floats.
    Floats(HostTensor),
    /// A shape and its booleans, one per byte.
    Flags(Vec<usize>, Vec<u8>),
}

impl View for &Stored {
    fn dtype(&self) -> Dtype {
        match self {
            Stored::Floats(_) => Dtype::F32,
            Stored::Flags(..) => Dtype::BOOL,
        }
    }

    fn shape(&self) -> &[usize] {
        match self {
            Stored::Floats(tensor) => &tensor.shape,
            Stored::Flags(shape, _) => shape,
        }
    }

    fn data(&self) -> Cow<'_, [u8]> {
        match self {
            Stored::Floats(tensor) => {
                let bytes = tensor.data.iter().flat_map(|v| v.to_le_bytes());
                Cow::Owned(bytes.collect())
            }
            Stored::Flags(_, bytes) => Cow::Borrowed(bytes),
        }
    }

    fn data_len(&self) -> usize {
        match self {
            Stored::Floats(tensor) => 4 * tensor.data.len(),
            Stored::Flags(_, bytes) => bytes.len(),
        }
    }
}

/// Writes a file atomically and creates its folder if needed.
///
/// # Errors
/// If it cannot be written.
pub fn write(
    path: &Path,
    tensors: &BTreeMap<String, Stored>,
    metadata: BTreeMap<String, String>,
) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    }
    write_views(path, tensors.iter(), metadata.into_iter().collect())
        .with_context(|| format!("writing {}", path.display()))
}

fn write_views<V: View>(
    path: &Path,
    tensors: impl IntoIterator<Item = (impl AsRef<str> + Ord + Display, V)>,
    metadata: HashMap<String, String>,
) -> anyhow::Result<()> {
    // The library first writes to a file with a random name beside its target. The target is
    // therefore in a temporary folder, which a signal or the next run removes with that file.
    let tmp = Temporary::new(temporary_name(path))?;
    fs::create_dir(tmp.path())?;
    let whole = tmp.path().join("weights");
    // The library writes a file that only its owner may read; a file created here has the mode of
    // all others.
    let permissions = fs::File::create(&whole)?.metadata()?.permissions();
    serialize_to_file(tensors, Some(metadata), &whole)?;
    fs::set_permissions(&whole, permissions)?;
    sort_entries(&whole)?;
    fs::File::open(&whole)?.sync_all()?;
    Ok(fs::rename(&whole, path)?)
}

/// Sorts the header of a file, so that the same content is the same bytes in every run.
fn sort_entries(path: &Path) -> std::io::Result<()> {
    let mut file = fs::OpenOptions::new().read(true).write(true).open(path)?;
    let mut length = [0; 8];
    file.read_exact(&mut length)?;
    let mut header = vec![0; usize::try_from(u64::from_le_bytes(length)).unwrap_or(0)];
    file.read_exact(&mut header)?;
    sort_header(&mut header);
    file.seek(SeekFrom::Start(length.len() as u64))?;
    file.write_all(&header)
}

#[cfg(all(test, unix))]
mod tests {
    use std::cell::RefCell;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use espalier_fixtures::listing::names;

    #[test]
    fn weights_have_the_mode_of_other_files() {
        let dir = tempfile::tempdir().unwrap();
        let (weights, other) = (dir.path().join("a.safetensors"), dir.path().join("b"));
        let tensor = HostTensor {
            shape: vec![2],
            data: vec![1.0, 2.0],
        };
        let tensors = BTreeMap::from([("a".to_owned(), Stored::Floats(tensor))]);
        write(&weights, &tensors, BTreeMap::new()).unwrap();
        fs::write(&other, "x").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&weights), mode(&other));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    /// A tensor that looks at what is in a folder while it is written.
    struct Watcher<'a> {
        folder: &'a Path,
        seen: RefCell<Vec<String>>,
    }

    impl View for &Watcher<'_> {
        fn dtype(&self) -> Dtype {
            Dtype::U8
        }

        fn shape(&self) -> &[usize] {
            &[1]
        }

        fn data(&self) -> Cow<'_, [u8]> {
            *self.seen.borrow_mut() = names(self.folder);
            Cow::Borrowed(&[7])
        }

        fn data_len(&self) -> usize {
            1
        }
    }

    #[test]
    fn a_file_that_is_being_written_stands_below_one_temporary_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.safetensors");
        // Left by a killed process.
        let left = dir.path().join("a.safetensors.tmp");
        fs::create_dir(&left).unwrap();
        fs::write(left.join(".tmpAoDzx4"), "half").unwrap();
        let watcher = Watcher {
            folder: dir.path(),
            seen: RefCell::default(),
        };
        write_views(&path, [("a", &watcher)], HashMap::new()).unwrap();
        assert_eq!(watcher.seen.take(), ["a.safetensors.tmp"]);
        assert_eq!(names(dir.path()), ["a.safetensors"]);
    }
}
