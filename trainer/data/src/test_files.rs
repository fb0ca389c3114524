//! Files for tests, and the records in them.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::records::fault::Broken;
use crate::records::source::{Dataset, Record, Records};

/// Returns a new folder with these files, given by their paths in it and their contents.
pub(crate) fn folder<B: AsRef<[u8]>>(files: &[(&str, B)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), files);
    dir
}

/// Returns a new folder with files of these paths; what they contain does not matter.
pub(crate) fn folder_with(names: &[&str]) -> TempDir {
    let files: Vec<(&str, &str)> = names.iter().map(|name| (*name, "x")).collect();
    folder(&files)
}

/// Writes files below a folder.
pub(crate) fn write<B: AsRef<[u8]>>(folder: &Path, files: &[(&str, B)]) {
    for (name, content) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

/// Returns the bytes of a tar with these members.
pub(crate) fn tar_of<B: AsRef<[u8]>>(members: &[(&str, B)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, content) in members {
        let content = content.as_ref();
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_cksum();
        tar.append_data(&mut header, name, content).unwrap();
    }
    tar.into_inner().unwrap()
}

/// Reads all records of a dataset in file order.
pub(crate) fn read_all(data: &dyn Dataset) -> Vec<Result<Record, Broken>> {
    let units = data.units().iter().enumerate();
    let records = units.flat_map(|(at, unit)| {
        let loaded = data.load(at);
        (0..unit.records as usize).map(move |row| loaded.read(row))
    });
    records.collect()
}
