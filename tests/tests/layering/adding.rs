//! The worked examples of `CONTRIBUTING.md`: a reader who copies one must find every file to touch.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::imports::{files, rust_files};

/// A worked example.
pub struct Example {
    /// Heading of its section, without `##`.
    pub heading: &'static str,
    /// Identifiers that only its own files use.
    pub words: &'static [&'static str],
    /// Largest number of places.
    pub most: usize,
}

/// All worked examples.
pub const EXAMPLES: [Example; 4] = [
    Example {
        heading: "Adding a training method",
        words: &[
            "atmg",
            "Atmg",
            "AtmgOptions",
            "ImageApex",
            "image_apex",
            "centroid",
        ],
        most: 6,
    },
    Example {
        heading: "Adding a dataset format",
        words: &["inat"],
        most: 4,
    },
    Example {
        heading: "Adding a family of checkpoints",
        words: &["OpenClip"],
        most: 5,
    },
    Example {
        heading: "Adding a panel to the page",
        words: &["StoragePanel", "storage_panel"],
        most: 4,
    },
];

/// Returns the text of a section, without its heading; empty if there is no such section.
pub fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let start = format!("\n## {heading}\n");
    let Some(from) = text.find(&start) else {
        return "";
    };
    let rest = &text[from + start.len()..];
    rest.find("\n## ").map_or(rest, |end| &rest[..end])
}

/// Returns the number of numbered items in a section.
pub fn places(section: &str) -> usize {
    let is_item = |line: &&str| {
        let number: String = line.chars().take_while(char::is_ascii_digit).collect();
        !number.is_empty() && line[number.len()..].starts_with(". ")
    };
    section.lines().filter(is_item).count()
}

/// Returns the paths that a section names in backticks.
pub fn named(section: &str) -> BTreeSet<String> {
    let quoted = section.split('`').skip(1).step_by(2);
    let paths = quoted.filter(|word| word.contains('/') && !word.contains(' '));
    paths
        .map(|path| path.trim_end_matches('/').to_owned())
        .collect()
}

/// Returns the files in which a worked example may be used: the sources of the product, the Python
/// package with its tests, and the shipped configurations.
pub fn scanned(root: &Path) -> Vec<PathBuf> {
    let packages = super::PACKAGES.into_iter();
    let sources = packages
        .filter(|package| !["lab", "tests/fuzz", "xtask"].contains(package))
        .flat_map(|package| rust_files(&root.join(package).join("src")));
    let others: [(&str, &[&str]); 3] = [
        ("python/espalier", &["py", "pyi"]),
        ("python/tests", &["py"]),
        ("trainer/configs", &["toml"]),
    ];
    let others = others.into_iter();
    let others = others.flat_map(|(folder, extensions)| files(&root.join(folder), extensions));
    sources.chain(others).collect()
}

/// Returns whether the code of a source uses one of the words: comments and unit tests do not count.
/// In Rust a line of comment begins with `//`, in Python and TOML with `#`.
pub fn uses(path: &Path, source: &str, words: &[&str]) -> bool {
    let is_rust = path.extension().is_some_and(|extension| extension == "rs");
    let (code, comment) = if is_rust {
        let code = source.split("#[cfg(test)]").next().unwrap_or_default();
        (code, "//")
    } else {
        (source, "#")
    };
    let lines = code
        .lines()
        .filter(|line| !line.trim_start().starts_with(comment));
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut tokens = lines.flat_map(|line| line.split(move |c| !is_word(c)));
    tokens.any(|token| words.contains(&token))
}

/// Returns whether a path is one of the named ones or lies in a named folder.
pub fn is_named(path: &Path, named: &BTreeSet<String>) -> bool {
    path.ancestors()
        .any(|part| named.contains(&part.to_string_lossy().replace('\\', "/")))
}
