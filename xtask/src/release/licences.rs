//! The licences that travel with a built program: ours, those of data in it, and those of every package
//! that is compiled into it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::files::{entries, name_from};
use crate::process::{capture, command};

/// Name of the list of the packages' licences.
const PACKAGES: &str = "THIRD-PARTY.txt";

/// Beginnings of the names of files with licences and notices, in lower case.
const NAMES: [&str; 6] = [
    "authors",
    "copying",
    "copyright",
    "licence",
    "license",
    "notice",
];

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    manifest_path: PathBuf,
    source: Option<String>,
}

/// Returns the names and texts of the files. `selection` chooses the program as arguments of
/// `cargo tree` do, and `target` is the system it is built for.
///
/// # Errors
/// Fails if cargo cannot tell the packages, or one of them states no licence.
pub fn files(root: &Path, selection: &[&str], target: &str) -> Result<Vec<(String, Vec<u8>)>> {
    let mut files = Vec::new();
    for name in ["LICENSE-APACHE", "LICENSE-MIT", "NOTICES.md"] {
        let text = fs::read(root.join(name)).with_context(|| format!("cannot read {name}"))?;
        files.push((name.to_owned(), text));
    }
    let packages = packages(root, selection, target)?;
    files.push((PACKAGES.to_owned(), list(&packages)?.into_bytes()));
    Ok(files)
}

/// Returns the packages from registries that are compiled into a program, build scripts and procedural
/// macros left out.
fn packages(root: &Path, selection: &[&str], target: &str) -> Result<Vec<Package>> {
    let mut tree = command("cargo");
    tree.args(["tree", "--locked", "--target", target])
        .args(["--edges", "normal,no-proc-macro", "--prefix", "none"])
        .args(["--format", "{p}"])
        .args(selection);
    let tree = capture(tree.current_dir(root))?;
    let used: BTreeSet<(&str, &str)> = tree.lines().filter_map(named).collect();
    let mut metadata = command("cargo");
    metadata
        .args(["metadata", "--locked", "--format-version", "1"])
        .args(["--filter-platform", target]);
    let metadata: Metadata = serde_json::from_str(&capture(metadata.current_dir(root))?)?;
    let mut packages = metadata.packages;
    packages.retain(|p| p.source.is_some() && used.contains(&(&p.name, &p.version)));
    packages.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    Ok(packages)
}

/// Returns name and version from a line such as `burn v0.22.1` or `x v0.1.0 (/path)`.
fn named(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split_whitespace();
    Some((words.next()?, words.next()?.strip_prefix('v')?))
}

/// Returns the names of the packages with their licences, then every text once with the packages that
/// it stands in.
fn list(packages: &[Package]) -> Result<String> {
    let mut text = String::from("Packages compiled into this program, and their licences.\n\n");
    let mut holders: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for package in packages {
        let texts = texts(package)?;
        if package.license.is_none() && texts.is_empty() {
            bail!("{} {} states no licence", package.name, package.version);
        }
        let licence = package.license.as_deref().unwrap_or("see below");
        writeln!(text, "{} {}: {licence}", package.name, package.version)?;
        for licence in texts {
            let holders = holders.entry(licence).or_default();
            if holders.last() != Some(&package.name.as_str()) {
                holders.push(&package.name);
            }
        }
    }
    for (licence, holders) in holders {
        let line = "-".repeat(80);
        write!(text, "\n{line}\n{}:\n\n{licence}\n", holders.join(", "))?;
    }
    Ok(text)
}

/// Returns the texts of the files with licences and notices of a package.
fn texts(package: &Package) -> Result<BTreeSet<String>> {
    let folder = package.manifest_path.parent().unwrap_or(Path::new("."));
    let mut texts = BTreeSet::new();
    for path in entries(folder)? {
        let name = name_from(folder, &path).to_lowercase();
        if path.is_file() && NAMES.iter().any(|start| name.starts_with(start)) {
            let text = String::from_utf8_lossy(&fs::read(&path)?).replace("\r\n", "\n");
            texts.insert(text.trim().to_owned());
        }
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(folder: &Path, name: &str, licence: Option<&str>) -> Package {
        let folder = folder.join(name);
        fs::create_dir_all(&folder).unwrap();
        Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            license: licence.map(str::to_owned),
            manifest_path: folder.join("Cargo.toml"),
            source: None,
        }
    }

    #[test]
    fn a_line_of_the_tree_names_a_package() {
        assert_eq!(named("burn v0.22.1"), Some(("burn", "0.22.1")));
        assert_eq!(named("x v0.1.0 (/a b)"), Some(("x", "0.1.0")));
        assert_eq!(named(""), None);
    }

    #[test]
    fn the_same_text_stands_once_with_all_its_packages() {
        let folder = tempfile::tempdir().unwrap();
        let packages = ["one", "two"].map(|name| package(folder.path(), name, Some("MIT")));
        for (name, end) in [("one", "\n"), ("two", "\r\n\r\n")] {
            let path = folder.path().join(name).join("LICENSE-MIT");
            fs::write(path, format!("Permission is granted{end}")).unwrap();
        }
        let text = list(&packages).unwrap();
        assert!(text.contains("one 1.0.0: MIT\ntwo 1.0.0: MIT\n"), "{text}");
        assert!(
            text.contains("one, two:\n\nPermission is granted\n"),
            "{text}"
        );
        assert_eq!(text.matches("Permission").count(), 1);
    }

    #[test]
    fn a_package_without_any_licence_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let error = list(&[package(folder.path(), "bare", None)]).unwrap_err();
        assert_eq!(error.to_string(), "bare 1.0.0 states no licence");
    }
}
