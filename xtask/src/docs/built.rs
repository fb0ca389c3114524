//! The links and anchors of the built site.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use html5gum::{DefaultEmitter, Token, Tokenizer};

use super::documents::resolve;
use super::markdown::has_scheme;
use crate::files;

/// What a page points to, and what may be pointed to in it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Page {
    links: BTreeSet<String>,
    anchors: BTreeSet<String>,
    /// Target of the redirect (`http-equiv=refresh`), if the page is one. The browser keeps the anchor.
    redirect: Option<String>,
}

/// How many pages and links were checked, and what was found.
#[derive(Debug, Default)]
pub struct Report {
    /// Pages.
    pub pages: usize,
    /// Links to files of the site.
    pub links: usize,
    /// Links that lead nowhere.
    pub broken: Vec<String>,
    /// Addresses of other hosts.
    pub external: BTreeSet<String>,
}

/// Checks every link of every page in a folder: that the file is there, and the anchor in it.
///
/// # Errors
/// Fails if a page cannot be read.
pub fn check(site: &Path) -> Result<Report> {
    let mut pages = BTreeMap::new();
    for path in html_files(site)? {
        let bytes =
            std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        pages.insert(files::name_from(site, &path), read(&bytes));
    }
    let mut report = Report {
        pages: pages.len(),
        ..Report::default()
    };
    for (name, page) in &pages {
        for link in &page.links {
            if has_scheme(link) {
                report.external.insert(link.clone());
            } else {
                report.links += 1;
                report.broken.extend(fault(site, &pages, name, link));
            }
        }
    }
    Ok(report)
}

/// Returns what is wrong with a link of a page.
fn fault(site: &Path, pages: &BTreeMap<String, Page>, name: &str, link: &str) -> Option<String> {
    let Some(target) = resolve(name, link) else {
        return Some(format!("{name}: {link} leads out of the site"));
    };
    let target = match site.join(&target).is_dir() {
        true if target.is_empty() => "index.html".to_owned(),
        true => format!("{target}/index.html"),
        false => target,
    };
    if !site.join(&target).is_file() {
        return Some(format!("{name}: {link}: there is no {target}"));
    }
    let anchor = link.split_once('#').map_or("", |(_, anchor)| anchor);
    let known = pages.get(&target)?;
    if let Some(redirect) = &known.redirect
        && !anchor.is_empty()
        && name != target
    {
        return fault(site, pages, &target, &format!("{redirect}#{anchor}"));
    }
    // `#` alone is the top of the page; rustdoc marks lines of sources (`#12-34`) by script.
    let is_line = target.starts_with("api/src/");
    (!anchor.is_empty() && !is_line && !known.anchors.contains(anchor))
        .then(|| format!("{name}: {link}: {target} has no anchor #{anchor}"))
}

fn read(html: &[u8]) -> Page {
    let mut page = Page::default();
    let mut emitter = DefaultEmitter::default();
    // What stands in scripts and styles is no markup.
    emitter.naively_switch_states(true);
    for token in Tokenizer::new_with_emitter(html, emitter) {
        let Ok(token) = token;
        let Token::StartTag(tag) = token else {
            continue;
        };
        let content = tag.attributes.get(b"content".as_slice());
        if tag
            .attributes
            .get(b"http-equiv".as_slice())
            .is_some_and(|value| value.as_slice() == b"refresh")
        {
            let content = content.map(|value| String::from_utf8_lossy(value).into_owned());
            page.redirect = content.and_then(|text| Some(text.split_once("URL=")?.1.to_owned()));
        }
        // A hint for search engines that names the published address.
        let rel = tag.attributes.get(b"rel".as_slice());
        let is_canonical = rel.is_some_and(|value| value.as_slice() == b"canonical");
        for (name, value) in &tag.attributes {
            let value = String::from_utf8_lossy(value).into_owned();
            match name.as_slice() {
                b"href" | b"src" if !is_canonical => page.links.insert(value),
                b"id" | b"name" => page.anchors.insert(value),
                _ => false,
            };
        }
    }
    page
}

/// Returns the pages in a folder and in those below it, by name.
///
/// # Errors
/// Fails if a folder cannot be read.
pub fn html_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = files::below(folder)?;
    files.retain(|path| path.extension().is_some_and(|e| e == "html"));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_anchors_that_are_missing_are_found() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        let write = |name: &str, html: &str| std::fs::write(dir.path().join(name), html).unwrap();
        write(
            "index.html",
            "<a href='sub/'>s</a><a href=\"a.html#one\">1</a><a href='a.html#tw&#111;'>2</a>\
             <img src=gone.png><a href='../out'>o</a><a href='https://h.example/x'>h</a><a href='#'>t</a>\
             <script>var x = \"<a href='no.html'>\";</script>",
        );
        write("a.html", "<h1 id=one>x</h1><a name=three></a>");
        write(
            "moved.html",
            "<meta http-equiv='refresh' content='0;URL=a.html'><a href='a.html'>a</a>",
        );
        write(
            "sub/index.html",
            "<a href='../a.html#three'>3</a><a href='../moved.html#one'>1</a>\
             <a href='../moved.html#four'>4</a>",
        );
        let report = check(dir.path()).unwrap();
        assert_eq!((report.pages, report.links), (4, 10));
        assert_eq!(
            report.broken,
            [
                "index.html: ../out leads out of the site",
                "index.html: a.html#two: a.html has no anchor #two",
                "index.html: gone.png: there is no gone.png",
                "moved.html: a.html#four: a.html has no anchor #four",
            ]
        );
        assert!(report.external.contains("https://h.example/x"));
    }
}
