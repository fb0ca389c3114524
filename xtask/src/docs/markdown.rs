//! Links and headings of a Markdown document, as GitHub shows it.

use std::collections::BTreeSet;
use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// A link or an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// What it points to, as written.
    pub target: String,
    /// Whether it is an image.
    pub is_image: bool,
    /// Bytes of the whole link in the document.
    pub span: Range<usize>,
}

impl Link {
    /// Returns whether it leads to another host, or starts a program (`mailto:`).
    pub fn is_external(&self) -> bool {
        has_scheme(&self.target)
    }
}

/// Returns whether an address begins with a scheme, such as `https:`.
pub fn has_scheme(address: &str) -> bool {
    address.split_once(':').is_some_and(|(scheme, _)| {
        scheme.len() > 1 && scheme.chars().all(|c| c.is_ascii_alphanumeric())
    }) || address.starts_with("//")
}

fn parser(text: &str) -> Parser<'_> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    Parser::new_ext(text, options)
}

/// Returns all links and images, in the order of the document; what stands in code is none.
pub fn links(text: &str) -> Vec<Link> {
    let found = parser(text).into_offset_iter().filter_map(|(event, span)| {
        let (target, is_image) = match event {
            Event::Start(Tag::Link { dest_url, .. }) => (dest_url, false),
            Event::Start(Tag::Image { dest_url, .. }) => (dest_url, true),
            _ => return None,
        };
        Some(Link {
            target: target.into_string(),
            is_image,
            span,
        })
    });
    found.collect()
}

/// Returns the document with every link changed by `change`; `None` keeps a link.
///
/// A link whose target does not stand in it, as `[text][reference]`, is kept.
pub fn with_links(text: &str, change: impl Fn(&Link) -> Option<String>) -> String {
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for link in links(text) {
        let written = format!("]({}", link.target);
        let found = text[link.span.clone()].rfind(&written);
        if let (Some(at), Some(new)) = (found, change(&link)) {
            let start = link.span.start + at + 2;
            edits.push((start..start + link.target.len(), new));
        }
    }
    edits.sort_by_key(|(range, _)| range.start);
    let mut result = String::with_capacity(text.len());
    let mut end = 0;
    for (range, new) in edits {
        result.push_str(&text[end..range.start]);
        result.push_str(&new);
        end = range.end;
    }
    result.push_str(&text[end..]);
    result
}

/// Returns the anchors of all headings: the text in lower case, spaces as hyphens, without other
/// signs; a repeated one gets a number.
pub fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut heading: Option<String> = None;
    for event in parser(text) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let slug = slug(&heading.take().unwrap_or_default());
                let numbered = (1..).map(|n| format!("{slug}-{n}"));
                let mut names = std::iter::once(slug.clone()).chain(numbered);
                found.extend(names.find(|name| !found.contains(name)));
            }
            Event::Text(words) | Event::Code(words) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&words);
                }
            }
            _ => {}
        }
    }
    found
}

fn slug(heading: &str) -> String {
    let kept = heading
        .trim()
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase)
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_in_text_and_tables_are_found_and_those_in_code_are_not() {
        let text = "[a](x.md#top) and `[b](y.md)`\n\n```sh\n[c](z.md)\n```\n\n| [d](d.md) |\n|---|\n\n![e](e.png)\n";
        let found: Vec<(String, bool)> = links(text)
            .into_iter()
            .map(|link| (link.target, link.is_image))
            .collect();
        let expected = [("x.md#top", false), ("d.md", false), ("e.png", true)];
        assert_eq!(found, expected.map(|(t, i)| (t.to_owned(), i)));
    }

    #[test]
    fn targets_are_replaced_and_all_else_is_kept() {
        let text = "[![p](a.png)](a.md) `[x](a.md)` [y](b.md \"title\")";
        let new = with_links(text, |link| Some(format!("up/{}", link.target)));
        assert_eq!(
            new,
            "[![p](up/a.png)](up/a.md) `[x](a.md)` [y](up/b.md \"title\")"
        );
        assert_eq!(with_links(text, |_| None), text);
    }

    #[test]
    fn anchors_are_those_of_github() {
        let text =
            "# What `fit` does, *and* why\n## Same\n## Same\n```\n# none\n```\n## 8. Traps\n";
        let expected = ["8-traps", "same", "same-1", "what-fit-does-and-why"];
        assert_eq!(anchors(text).into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn an_address_with_a_scheme_is_external() {
        for address in ["https://a.example/x", "mailto:a@b.example", "//a.example/"] {
            assert!(has_scheme(address), "{address}");
        }
        for address in ["a.md", "#top", "../b/c.md#d:e", "x/y:z"] {
            assert!(!has_scheme(address), "{address}");
        }
    }
}
