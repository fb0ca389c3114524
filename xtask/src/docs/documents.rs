//! The documents of the repository, and where their links lead.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use anyhow::{Context, Result};

use super::markdown;
use crate::files;

/// Documents at the top of the repository that are pages of the site, too.
pub const AT_THE_TOP: [&str; 4] = [
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "NOTICES.md",
];

/// Folder of the documents.
pub const FOLDER: &str = "docs";

/// The document that lists all others: the home page of the site.
pub const HOME: &str = "docs/README.md";

/// Returns the text of every document by its path in the repository: README.md, those of
/// [`AT_THE_TOP`] and all below `docs/`.
///
/// # Errors
/// Fails if one cannot be read.
pub fn all(root: &Path) -> Result<BTreeMap<String, String>> {
    let mut paths: Vec<String> = AT_THE_TOP.iter().map(|&name| name.to_owned()).collect();
    paths.push("README.md".to_owned());
    let inside = files::below(&root.join(FOLDER))?;
    let names = inside.iter().map(|file| files::name_from(root, file));
    paths.extend(names.filter(|name| name.ends_with(".md")));
    let read = |path: String| -> Result<(String, String)> {
        let text = std::fs::read_to_string(root.join(&path))
            .with_context(|| format!("cannot read {path}"))?;
        Ok((path, text))
    };
    paths.into_iter().map(read).collect()
}

/// Returns the path in the repository of a link's target, without its anchor; `None` if it leads out
/// of the repository.
pub fn resolve(document: &str, target: &str) -> Option<String> {
    let path = target.split(['#', '?']).next().unwrap_or_default();
    if path.is_empty() {
        return Some(document.to_owned());
    }
    let folder = Path::new(document).parent().unwrap_or(Path::new(""));
    let mut parts: Vec<String> = Vec::new();
    for part in folder.join(path).components() {
        match part {
            Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
            Component::ParentDir => {
                parts.pop()?;
            }
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts.join("/"))
}

/// Returns every link of the documents that leads nowhere: a missing file, or a heading that its
/// document lacks. Links to other hosts are not followed.
///
/// # Errors
/// Fails if a document cannot be read.
pub fn broken_links(root: &Path) -> Result<Vec<String>> {
    let documents = all(root)?;
    let anchors: BTreeMap<&str, BTreeSet<String>> = documents
        .iter()
        .map(|(path, text)| (path.as_str(), markdown::anchors(text)))
        .collect();
    let mut broken = Vec::new();
    for (path, text) in &documents {
        for link in markdown::links(text) {
            if link.is_external() {
                continue;
            }
            let target = &link.target;
            let Some(file) = resolve(path, target) else {
                broken.push(format!("{path}: {target} leads out of the repository"));
                continue;
            };
            let anchor = target.split_once('#').map(|(_, anchor)| anchor);
            if !root.join(&file).exists() {
                broken.push(format!("{path}: {target}: there is no {file}"));
            } else if let (Some(anchor), Some(known)) = (anchor, anchors.get(file.as_str()))
                && !known.contains(anchor)
            {
                broken.push(format!("{path}: {target}: {file} has no heading #{anchor}"));
            }
        }
    }
    Ok(broken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths;

    #[test]
    fn every_link_of_the_documents_leads_somewhere() {
        let root = paths::root().unwrap();
        let links: usize = all(&root)
            .unwrap()
            .values()
            .map(|text| markdown::links(text).len())
            .sum();
        assert!(links > 100, "only {links} links were read");
        let broken = broken_links(&root).unwrap();
        assert!(broken.is_empty(), "{}", broken.join("\n"));
    }

    #[test]
    fn a_missing_file_and_a_missing_heading_are_found() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("docs")).unwrap();
        for name in AT_THE_TOP {
            std::fs::write(dir.path().join(name), "# Title\n").unwrap();
        }
        let readme = "[a](docs/a.md#one) [b](docs/a.md#two) [c](docs/c.md) [d](../d) [e](#gone)\n";
        std::fs::write(dir.path().join("README.md"), readme).unwrap();
        std::fs::write(dir.path().join("docs/a.md"), "# One\n[up](../README.md)\n").unwrap();
        let broken = broken_links(dir.path()).unwrap();
        assert_eq!(
            broken,
            [
                "README.md: docs/a.md#two: docs/a.md has no heading #two",
                "README.md: docs/c.md: there is no docs/c.md",
                "README.md: ../d leads out of the repository",
                "README.md: #gone: README.md has no heading #gone",
            ]
        );
    }

    #[test]
    fn targets_are_resolved_against_the_folder_of_their_document() {
        let resolved = |target| resolve("docs/adr/1.md", target);
        assert_eq!(resolved("../a.md#x").as_deref(), Some("docs/a.md"));
        assert_eq!(resolved("#x").as_deref(), Some("docs/adr/1.md"));
        assert_eq!(resolved("../../core/").as_deref(), Some("core"));
        assert_eq!(resolved("../../../x"), None);
    }
}
