//! Sources of published packages include only files of their own package.

use std::path::{Component, Path, PathBuf};

/// Folders of the packages that are published.
const PUBLISHED: [&str; 8] = [
    "core",
    "core/kernels",
    "trainer",
    "trainer/checkpoints",
    "trainer/data",
    "trainer/eval",
    "trainer/figures",
    "trainer/io",
];

/// Returns the paths that `include_str!` and `include_bytes!` name in a source.
fn included(source: &str) -> Vec<&str> {
    let parts = ["include_str!(", "include_bytes!("]
        .iter()
        .flat_map(|name| source.split(name).skip(1));
    parts
        .filter_map(|rest| {
            let quoted = rest.trim_start().strip_prefix('"')?;
            quoted.split_once('"').map(|(path, _)| path)
        })
        .collect()
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
    for package in PUBLISHED {
        let package = root.join(package);
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
