//! The order of the documents: the parts and lists of `docs/README.md`, which is the home page of the
//! site. A line there is all that a new document needs.

use std::collections::BTreeSet;

use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};

use super::documents::{HOME, resolve};
use super::markdown::has_scheme;

/// A part of the documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its heading.
    pub title: String,
    /// Paths in the repository, in order.
    pub documents: Vec<String>,
}

/// Reads the parts of the home page: each heading of the second level with the documents that the
/// lists below it name.
pub fn parts(home: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut inside_heading = false;
    // The first link of an item is the document; others are part of what is said about it.
    let mut expects_document = false;
    for event in Parser::new(home) {
        match event {
            Event::Start(Tag::Heading {
                level: HeadingLevel::H2,
                ..
            }) => {
                inside_heading = true;
                parts.push(Part {
                    title: String::new(),
                    documents: Vec::new(),
                });
            }
            Event::End(TagEnd::Heading(_)) => inside_heading = false,
            Event::Start(Tag::Item) => expects_document = true,
            Event::End(TagEnd::Item) => expects_document = false,
            Event::Text(words) if inside_heading => {
                if let Some(part) = parts.last_mut() {
                    part.title.push_str(&words);
                }
            }
            Event::Start(Tag::Link { dest_url, .. }) if expects_document => {
                expects_document = false;
                let document = resolve(HOME, &dest_url).filter(|path| path.ends_with(".md"));
                if let (Some(part), Some(document)) = (parts.last_mut(), document)
                    && !has_scheme(&dest_url)
                {
                    part.documents.push(document);
                }
            }
            _ => {}
        }
    }
    parts
}

/// Returns what is wrong with the lists: a document that none of them names, or that two name.
pub fn faults<'a>(parts: &[Part], documents: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut listed = BTreeSet::new();
    let mut faults = Vec::new();
    for document in parts.iter().flat_map(|part| &part.documents) {
        if !listed.insert(document.as_str()) {
            faults.push(format!("{HOME} lists {document} twice"));
        }
    }
    for document in documents {
        if ![HOME, "README.md"].contains(&document) && !listed.contains(document) {
            faults.push(format!("{HOME} lacks {document}: add a line for it"));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::docs::documents;
    use crate::paths;

    #[test]
    fn every_document_is_in_the_navigation_once() {
        let documents = documents::all(&paths::root().unwrap()).unwrap();
        let parts = parts(&documents[HOME]);
        assert!(parts.len() > 3, "{parts:?}");
        let faults = faults(&parts, documents.keys().map(String::as_str));
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }

    #[test]
    fn headings_and_lists_are_the_parts() {
        let home = "# Home\n\nSee [b](b.md).\n\n## First\n\n- [a](a.md): x, see [b](b.md)\n- [web](https://a.example/x.md)\n\n\
                    ## Second part\n\n- [up](../UP.md)\n- [a](a.md)\n";
        let parts = parts(home);
        assert_eq!(parts[0].title, "First");
        assert_eq!(parts[0].documents, ["docs/a.md"]);
        assert_eq!(parts[1].title, "Second part");
        assert_eq!(parts[1].documents, ["UP.md", "docs/a.md"]);
        assert_eq!(
            faults(&parts, ["docs/a.md", "docs/b.md", "README.md", HOME]),
            [
                "docs/README.md lists docs/a.md twice",
                "docs/README.md lacks docs/b.md: add a line for it"
            ]
        );
    }
}
