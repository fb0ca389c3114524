//! The source of the site: the documents in the order of the navigation, with links that work there.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::documents::{self, FOLDER, HOME};
use super::markdown;
use super::navigation::{self, Part};
use super::reference::Page;
use crate::files::copy_folder;

/// Part of the navigation that the generated pages belong to.
const REFERENCE: &str = "Reference";

/// Writes the source of the site to the empty folder `to`: documents, images and `generated` pages.
/// Links to other files of the repository lead to `repository`, its address.
///
/// # Errors
/// Fails if a document is missing in the navigation, or a file cannot be read or written.
pub fn write(root: &Path, to: &Path, generated: &[Page], repository: &str) -> Result<()> {
    let documents = documents::all(root)?;
    let parts = navigation::parts(&documents[HOME]);
    let faults = navigation::faults(&parts, documents.keys().map(String::as_str));
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    copy_folder(&root.join(FOLDER), to)?;
    let pages: BTreeSet<&str> = documents
        .keys()
        .map(String::as_str)
        .filter(|path| *path != "README.md")
        .collect();
    std::fs::remove_file(to.join("README.md"))?;
    for path in &pages {
        let text = markdown::with_links(&documents[*path], |link| {
            let elsewhere = link.is_external() || link.target.starts_with('#');
            let target = documents::resolve(path, &link.target).filter(|_| !elsewhere)?;
            let anchor = link.target.find('#').map_or("", |at| &link.target[at..]);
            Some(moved(root, path, &target, &pages, repository) + anchor)
        });
        let text = titled(&plain_fences(&text));
        let text = if *path == HOME {
            home(&text, &parts, generated)
        } else {
            text
        };
        put(to, &page_path(path), &text)?;
    }
    for page in generated {
        put(to, &page.path, &page.text)?;
    }
    Ok(())
}

fn put(folder: &Path, name: &str, text: &str) -> Result<()> {
    let path = folder.join(name);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Returns where a document of the repository lies in the source of the site.
fn page_path(document: &str) -> String {
    match document.strip_prefix("docs/") {
        Some("README.md") => "index.md".to_owned(),
        Some(inner) => inner.to_owned(),
        None => document.to_lowercase(),
    }
}

/// Returns the target of a link from one page to a file of the repository.
fn moved(
    root: &Path,
    from: &str,
    target: &str,
    pages: &BTreeSet<&str>,
    repository: &str,
) -> String {
    let is_in_docs = target.starts_with("docs/") && root.join(target).is_file();
    if is_in_docs || pages.contains(target) {
        let up = page_path(from).matches('/').count();
        return "../".repeat(up) + &page_path(target);
    }
    let kind = match root.join(target).is_dir() {
        true => "tree",
        false => "blob",
    };
    format!("{repository}/{kind}/main/{target}")
}

/// Removes what rustdoc alone understands from the names of languages (`rust,ignore`).
fn plain_fences(text: &str) -> String {
    let plain = |line: &str| match line.trim_start().starts_with("```rust,") {
        true => line.split(',').next().unwrap_or_default().to_owned(),
        false => line.to_owned(),
    };
    text.lines().map(|line| plain(line) + "\n").collect()
}

/// Removes the text of links that are named by their file (`[scale.md](scale.md#cost)`): the site then
/// shows the title of what they lead to.
fn titled(text: &str) -> String {
    let mut text = text.to_owned();
    for link in markdown::links(&text).into_iter().rev() {
        let written = &text[link.span.clone()];
        let name = written
            .split_once("](")
            .map(|(name, _)| name.trim_start_matches('['));
        if let Some(name) = name.filter(|name| name.ends_with(".md") && !name.contains(' ')) {
            let start = link.span.start + 1;
            text.replace_range(start..start + name.len(), "");
        }
    }
    text
}

/// Returns the home page with the generated pages in its list of references and the tree of all pages,
/// which the sidebar shows.
fn home(text: &str, parts: &[Part], generated: &[Page]) -> String {
    let mut lines = String::new();
    for page in generated.iter().filter(|page| !page.about.is_empty()) {
        writeln!(lines, "- [{}]({}): {}", page.title, page.path, page.about).ok();
    }
    let heading = format!("## {REFERENCE}\n");
    let mut text = text.to_owned();
    if let Some(at) = text.find(&heading) {
        let list = text[at..].find("\n- ").map_or(text.len(), |n| at + n + 1);
        text.insert_str(list, &lines);
    }
    for part in parts {
        write!(
            text,
            "\n```{{toctree}}\n:caption: {}\n:hidden:\n\n",
            part.title
        )
        .ok();
        if part.title == REFERENCE {
            for page in generated.iter().filter(|page| !page.about.is_empty()) {
                writeln!(text, "{}", page.path).ok();
            }
        }
        for document in &part.documents {
            writeln!(text, "{}", page_path(document)).ok();
        }
        text.push_str("```\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_pages_of_the_site_or_to_the_repository() {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["docs/adr", "docs/images", "core"] {
            std::fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        for name in documents::AT_THE_TOP {
            put(dir.path(), name, "# T\n").unwrap();
        }
        put(dir.path(), "README.md", "# R\n").unwrap();
        put(dir.path(), "docs/images/a.png", "png").unwrap();
        let listed = "# Home\n\n## Reference\n\n- [A](a.md)\n- [1](adr/1.md)\n";
        let top: String = documents::AT_THE_TOP
            .iter()
            .map(|name| format!("- [x](../{name})\n"))
            .collect();
        put(dir.path(), HOME, &format!("{listed}{top}")).unwrap();
        let text = "[1](adr/1.md#x) [top](../ARCHITECTURE.md) ![a](images/a.png) [core](../core)\n\
                    [r](../README.md) [here](#y) [web](https://a.example)\n```rust,ignore\n```\n";
        put(dir.path(), "docs/a.md", text).unwrap();
        put(dir.path(), "docs/adr/1.md", "# x\n[a](../a.md)\n").unwrap();
        let page = Page {
            path: "reference/fit.md".to_owned(),
            title: "fit".to_owned(),
            about: "trains".to_owned(),
            text: "# fit\n".to_owned(),
        };
        let out = tempfile::tempdir().unwrap();
        write(dir.path(), out.path(), &[page], "https://h.example/e").unwrap();
        let read = |name: &str| std::fs::read_to_string(out.path().join(name)).unwrap();
        assert_eq!(
            read("a.md"),
            "[1](adr/1.md#x) [top](architecture.md) ![a](images/a.png) [core](https://h.example/e/tree/main/core)\n\
             [r](https://h.example/e/blob/main/README.md) [here](#y) [web](https://a.example)\n```rust\n```\n"
        );
        assert_eq!(read("adr/1.md"), "# x\n[a](../a.md)\n");
        let home = read("index.md");
        assert!(
            home.contains("\n- [fit](reference/fit.md): trains\n"),
            "{home}"
        );
        assert!(
            home.contains(":caption: Reference\n:hidden:\n\nreference/fit.md\na.md\nadr/1.md\narchitecture.md\n"),
            "{home}"
        );
        assert!(out.path().join("images/a.png").exists());
    }

    #[test]
    fn a_link_that_is_named_by_its_file_gets_the_title_of_its_target() {
        assert_eq!(
            titled("See [scale.md](scale.md#cost), [a b](a.md) and [`c.md`](c.md)."),
            "See [](scale.md#cost), [a b](a.md) and [`c.md`](c.md)."
        );
    }

    #[test]
    fn a_document_that_the_home_page_lacks_is_named() {
        let dir = tempfile::tempdir().unwrap();
        for name in documents::AT_THE_TOP.iter().chain(&["README.md", HOME]) {
            put(dir.path(), name, "# T\n").unwrap();
        }
        let out = tempfile::tempdir().unwrap();
        let error = write(dir.path(), out.path(), &[], "https://h.example").unwrap_err();
        assert!(error.to_string().contains("lacks NOTICES.md"), "{error}");
    }
}
