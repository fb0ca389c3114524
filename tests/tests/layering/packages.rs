//! Sources of published packages include only files of their own package.

use std::path::{Component, Path, PathBuf};

use super::PACKAGES;

/// Returns whether a package is published, by the first folder of its path.
fn is_published(folder: &str) -> bool {
    folder.starts_with("core") || folder.starts_with("trainer")
}

/// Returns the paths that `include_str!` and `include_bytes!` name in a source.
fn included(source: &str) -> Vec<&str> {
    let names = ["include_str!(", "include_bytes!("].iter();
    let parts = names.flat_map(|name| source.split(name).skip(1));
    let paths = parts.filter_map(|rest| {
        let quoted = rest.trim_start().strip_prefix('"')?;
        quoted.split_once('"').map(|(path, _)| path)
    });
    paths.collect()
}

/// Returns a path without `..`, without asking the disk.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir {
            plain.pop();
        } else {
            plain.push(part);
        }
    }
    plain
}

#[test]
fn sources_of_published_packages_include_only_files_of_their_own() {
    let root = super::root();
    let mut checked = 0;
    let published = PACKAGES.iter().filter(|name| is_published(name));
    for package in published.map(|name| root.join(name)) {
        for file in super::imports::rust_files(&package.join("src")) {
            let source = std::fs::read_to_string(&file).unwrap();
            for name in included(&source) {
                let path = plain(&file.parent().unwrap().join(name));
                let shown = file.display();
                assert!(path.starts_with(&package), "{shown} includes {name}");
                assert!(path.is_file(), "{shown} includes {name}");
                checked += 1;
            }
        }
    }
    assert!(checked > 10, "only {checked} included files were found");
}

#[test]
fn included_files_are_found_on_the_same_line_and_on_the_next() {
    let source = "const A: &str = include_str!(\"a.txt\");\ninclude_bytes!(\n    \"../b\"\n)";
    assert_eq!(included(source), ["a.txt", "../b"]);
    assert_eq!(plain(Path::new("/x/y/../../z")), Path::new("/z"));
}
