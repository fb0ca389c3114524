//! A folder in which readers that take paths find the input.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

/// A temporary folder with the input under several names, which are links to one file. Writing an
/// input is therefore one write, however many readers there are.
pub struct InputFiles {
    folder: TempDir,
}

impl InputFiles {
    /// Creates a folder with the input under each of `names`, and with other files of fixed
    /// `content` beside it. Names may contain folders.
    ///
    /// # Panics
    /// If the files cannot be written.
    pub fn new(names: &[&str], content: &[(&str, &[u8])]) -> Self {
        let folder = tempfile::tempdir().unwrap_or_else(|e| panic!("a temporary folder: {e}"));
        let files = Self { folder };
        files.write(b"");
        for name in names {
            let path = files.path(name);
            let linked = files.create_folder_of(name);
            let linked = linked.and_then(|()| fs::hard_link(files.input(), &path));
            linked.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        }
        for (name, bytes) in content {
            let written = files.create_folder_of(name);
            let written = written.and_then(|()| fs::write(files.path(name), bytes));
            written.unwrap_or_else(|e| panic!("{name}: {e}"));
        }
        files
    }

    fn create_folder_of(&self, name: &str) -> std::io::Result<()> {
        self.path(name).parent().map_or(Ok(()), fs::create_dir_all)
    }

    fn input(&self) -> PathBuf {
        self.path("input")
    }

    /// Replaces the content of the input under all of its names.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn write(&self, bytes: &[u8]) {
        fs::write(self.input(), bytes).unwrap_or_else(|e| panic!("writing the input: {e}"));
    }

    /// Returns the path of a file or a folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}
