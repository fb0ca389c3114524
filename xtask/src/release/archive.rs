//! `.tar.gz` files whose bytes depend only on what is in them: entries sorted by name, one time, no
//! owner.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

use crate::files;
use crate::process::{capture, command};

/// An entry of an archive.
enum Entry {
    File { content: Vec<u8>, executable: bool },
    Link(String),
}

/// An archive in memory, all of whose entries are in one folder.
pub struct Archive {
    folder: String,
    entries: BTreeMap<String, Entry>,
}

impl Archive {
    /// Returns an empty archive that unpacks to a folder.
    pub fn new(folder: &str) -> Self {
        Self {
            folder: folder.to_owned(),
            entries: BTreeMap::new(),
        }
    }

    /// Adds a file with this content.
    pub fn add(&mut self, name: &str, content: impl Into<Vec<u8>>) {
        let entry = Entry::File {
            content: content.into(),
            executable: false,
        };
        self.entries.insert(name.to_owned(), entry);
    }

    /// Adds a copy of a program.
    ///
    /// # Errors
    /// Fails if it cannot be read.
    pub fn add_program(&mut self, name: &str, path: &Path) -> Result<()> {
        let entry = Entry::File {
            content: read(path)?,
            executable: true,
        };
        self.entries.insert(name.to_owned(), entry);
        Ok(())
    }

    /// Adds a symbolic link to a file of the same folder.
    pub fn add_link(&mut self, name: &str, target: &str) {
        self.entries
            .insert(name.to_owned(), Entry::Link(target.to_owned()));
    }

    /// Adds the files of a folder and of the folders in it, except hidden ones; `prefix` is put before
    /// their names.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub fn add_folder(&mut self, prefix: &str, folder: &Path) -> Result<()> {
        for path in files::below(folder)? {
            let name = files::name_from(folder, &path);
            if !name.split('/').any(|part| part.starts_with('.')) {
                self.add(&format!("{prefix}{name}"), read(&path)?);
            }
        }
        Ok(())
    }

    /// Writes the archive; every entry has this time, in seconds since 1970.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn write(&self, path: &Path, time: u64) -> Result<()> {
        let file =
            File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        // Without a name and a time of its own, which gzip's header has room for.
        let packed = GzBuilder::new().write(file, Compression::best());
        let mut tar = Builder::new(packed);
        for (name, entry) in &self.entries {
            let name = format!("{}/{name}", self.folder);
            append(&mut tar, &name, entry, time).with_context(|| format!("packing {name}"))?;
        }
        tar.into_inner()?.finish()?.flush()?;
        Ok(())
    }
}

fn append(tar: &mut Builder<impl Write>, name: &str, entry: &Entry, time: u64) -> Result<()> {
    let mut header = Header::new_gnu();
    header.set_mtime(time);
    header.set_uid(0);
    header.set_gid(0);
    match entry {
        Entry::File {
            content,
            executable,
        } => {
            header.set_mode(if *executable { 0o755 } else { 0o644 });
            header.set_size(content.len() as u64);
            tar.append_data(&mut header, name, content.as_slice())?;
        }
        Entry::Link(target) => {
            header.set_entry_type(EntryType::Symlink);
            header.set_mode(0o777);
            header.set_size(0);
            tar.append_link(&mut header, name, target)?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Returns the time that a release states: `SOURCE_DATE_EPOCH`, or else that of the commit, or else the
/// first one that a zip file can state too.
pub fn time(root: &Path) -> u64 {
    const ZIPS_FIRST: u64 = 315_532_800;
    let commit = || {
        let mut git = command("git");
        capture(git.args(["log", "-1", "--format=%ct"]).current_dir(root)).ok()
    };
    std::env::var("SOURCE_DATE_EPOCH")
        .ok()
        .or_else(commit)
        .and_then(|seconds| seconds.trim().parse().ok())
        .unwrap_or(ZIPS_FIRST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(names: &[&str]) -> Archive {
        let mut archive = Archive::new("top");
        for name in names {
            archive.add(name, *name);
        }
        archive
    }

    #[test]
    fn the_order_of_adding_and_the_clock_do_not_matter() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        archive(&["b", "a/c", "a"])
            .write(&path("first"), 7)
            .unwrap();
        archive(&["a", "b", "a/c"])
            .write(&path("other"), 7)
            .unwrap();
        let first = fs::read(path("first")).unwrap();
        assert_eq!(first, fs::read(path("other")).unwrap());
        archive(&["a", "b", "a/c"])
            .write(&path("later"), 8)
            .unwrap();
        assert_ne!(first, fs::read(path("later")).unwrap());
    }

    #[test]
    fn files_programs_and_links_are_unpacked_with_their_rights() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("in")).unwrap();
        fs::write(folder.path().join("in/.stamp"), "hidden").unwrap();
        fs::write(folder.path().join("in/page.html"), "page").unwrap();
        let mut archive = Archive::new("top");
        archive
            .add_folder("site/", &folder.path().join("in"))
            .unwrap();
        archive
            .add_program("bin/one", &folder.path().join("in/page.html"))
            .unwrap();
        archive.add_link("bin/two", "one");
        let path = folder.path().join("x.tar.gz");
        archive.write(&path, 1_000_000_000).unwrap();
        let file = File::open(&path).unwrap();
        let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(file));
        let found: Vec<_> = tar
            .entries()
            .unwrap()
            .map(|entry| {
                let header = entry.unwrap().header().clone();
                let name = header.path().unwrap().display().to_string();
                let link = header.link_name().unwrap().map(|l| l.display().to_string());
                (name, header.mode().unwrap(), header.mtime().unwrap(), link)
            })
            .collect();
        let time = 1_000_000_000;
        assert_eq!(
            found,
            [
                ("top/bin/one".into(), 0o755, time, None),
                ("top/bin/two".into(), 0o777, time, Some("one".into())),
                ("top/site/page.html".into(), 0o644, time, None),
            ]
        );
    }
}
