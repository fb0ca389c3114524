//! A self-contained page of results.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::table::heading;
use crate::Record;
use crate::task::Confusion;

/// A result with its frequent wrong answers and small images of them (JPEG in base64 by key).
pub struct Section<'a> {
    /// The result.
    pub record: &'a Record,
    /// Wrong answers; those with the shallowest common ancestor first.
    pub confusions: &'a [Confusion],
    /// Images by key.
    pub images: BTreeMap<String, String>,
}

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;\
    padding:0 1rem;color:#222;background:#fff}table{border-collapse:collapse;margin:1rem 0}\
    th,td{text-align:left;padding:.25rem .75rem;border-bottom:1px solid #ddd}\
    td.n{text-align:right;font-variant-numeric:tabular-nums}img{width:72px;height:72px;\
    margin-right:4px;border-radius:4px}code{font-size:.85em;word-break:break-all}\
    @media(prefers-color-scheme:dark){body{color:#ddd;background:#161616}th,td{border-color:#444}}";

/// Escapes the special characters of HTML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Returns the page.
pub fn page(sections: &[Section<'_>]) -> String {
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>Evaluation</title><style>{STYLE}</style></head><body><h1>Evaluation</h1>\n"
    );
    if let Some(first) = sections.first() {
        let record = first.record;
        let architecture = record.architecture.as_deref();
        let architecture = architecture.unwrap_or("custom architecture");
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "<p>{}, {}, weights <code>{}</code>, sha256 <code>{}</code></p>",
            escape(&record.model),
            escape(architecture),
            escape(&record.pretrained),
            escape(&record.sha256)
        );
    }
    out.extend(sections.iter().map(body));
    out.push_str("</body></html>\n");
    out
}

fn body(section: &Section<'_>) -> String {
    let record = section.record;
    let mut out = format!("<h2>{}</h2>\n", escape(&heading(record)));
    let _ = write!(out, "<p>Data: {}", escape(&record.dataset.join(", ")));
    for (name, value) in &record.settings {
        let _ = write!(out, "; {} {}", escape(name), escape(value));
    }
    out.push_str("</p>\n<table><tr><th>metric</th><th>value</th><th>paper</th><th>gap</th></tr>\n");
    for (name, value) in &record.metrics {
        let metric = escape(name);
        let _ = write!(out, "<tr><td>{metric}</td><td class=\"n\">{value:.4}</td>");
        let published = record.published.iter().filter(|p| p.metric == *name);
        let (papers, gaps): (Vec<String>, Vec<String>) = published
            .map(|p| {
                let paper = format!("{:.4} ({})", p.paper, escape(&p.source));
                (paper, format!("{:+.4}", p.gap))
            })
            .unzip();
        let (papers, gaps) = (papers.join("<br>"), gaps.join("<br>"));
        let _ = writeln!(out, "<td>{papers}</td><td class=\"n\">{gaps}</td></tr>");
    }
    out.push_str("</table>\n");
    out.push_str(&coverage(record));
    out.push_str(&confusions(section));
    out
}

fn coverage(record: &Record) -> String {
    let Some(coverage) = &record.coverage else {
        return String::new();
    };
    let mut out = format!(
        "<p>{} of {} items were found.</p>\n",
        coverage.found, coverage.expected
    );
    let all = coverage.missing.iter().chain(&coverage.odd);
    let mut list = String::new();
    for (cause, of) in all.chain(&coverage.skipped) {
        let _ = write!(list, "<li>{}: {}", escape(cause), of.count);
        if !of.example.is_empty() {
            let _ = write!(list, " (for example {})", escape(&of.example));
        }
        list.push_str("</li>");
    }
    if !list.is_empty() {
        let _ = writeln!(out, "<ul>{list}</ul>");
    }
    out
}

fn confusions(section: &Section<'_>) -> String {
    if section.confusions.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "<h3>Frequent wrong answers, most distant first</h3>\n<table><tr><th>common ancestor</th>\
         <th>depth</th><th>truth</th><th>answer</th><th>times</th><th></th></tr>\n",
    );
    for confusion in section.confusions {
        let _ = write!(
            out,
            "<tr><td>{}</td><td class=\"n\">{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td>",
            escape(&confusion.ancestor),
            confusion.depth,
            escape(&confusion.truth),
            escape(&confusion.answer),
            confusion.count
        );
        let images = confusion.examples.iter();
        for image in images.filter_map(|key| section.images.get(key)) {
            let alt = escape(&confusion.truth);
            let source = format!("data:image/jpeg;base64,{image}");
            let _ = write!(out, "<img src=\"{source}\" alt=\"{alt}\">");
        }
        out.push_str("</td></tr>\n");
    }
    out.push_str("</table>\n");
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_of_data_and_models_cannot_bring_markup_into_the_page() {
        let hostile = "\"><script>alert(1)</script><img src=x onerror=alert(2)>&amp;";
        let record: Record = serde_json::from_value(json!({
            "dataset": [hostile], "model": hostile, "architecture": hostile, "pretrained": hostile,
            "sha256": hostile, "task": hostile, "language": hostile, "prompts": hostile,
            "backend": hostile, "n": 1, "left_out": {hostile: 1}, "classes": 1, "seed": 0,
            "settings": {hostile: hostile}, "metrics": {hostile: 0.5},
            "published": [
                {"metric": hostile, "value": 0.5, "paper": 0.4, "gap": 0.1, "source": hostile}
            ],
        }))
        .unwrap();
        let confusions = [Confusion {
            truth: hostile.into(),
            answer: hostile.into(),
            ancestor: hostile.into(),
            depth: 1,
            count: 2,
            examples: vec!["key".into()],
        }];
        let html = page(&[Section {
            record: &record,
            confusions: &confusions,
            images: BTreeMap::from([("key".into(), "AAAA".into())]),
        }]);
        assert!(html.contains("&lt;script&gt;alert(1)"), "{html}");
        assert!(html.contains("alt=\"&quot;&gt;&lt;script"), "{html}");
        let own =
            "!doctype html head meta title style body h1 h2 h3 p code table tr th td br ul li";
        let image = "img src=\"data:image/jpeg;base64,AAAA\" alt=";
        for tag in html.split('<').skip(1) {
            let name = tag.trim_start_matches('/');
            let mut own = own.split(' ').chain([image]);
            assert!(own.any(|own| name.starts_with(own)), "<{tag}");
        }
    }
}
