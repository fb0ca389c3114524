//! The texts of a bundle's index.

use std::path::Path;

use espalier_core::caption::CaptionEntry;
use espalier_core::taxonomy::{NodeIx, Taxonomy};

use crate::exit::usage;
use crate::words::with_article;

/// Nodes above more than this share of all labels get no caption: they name nothing to be seen.
const TOO_BROAD: f64 = 0.6;

/// Names of a node that become captions.
const NAMES: usize = 2;

/// What more can be said of where a thing is.
const PLACES: [&str; 7] = [
    "in the middle",
    "on the left",
    "on the right",
    "at the top",
    "at the bottom",
    "seen up close",
    "in the distance",
];

/// Captions of every node of a taxonomy: its names, and for labels where in the picture it is.
#[must_use]
pub fn of_taxonomy(taxonomy: &Taxonomy) -> Vec<CaptionEntry> {
    let all = taxonomy.labelled().len() as f64;
    let mut out = Vec::new();
    for (i, node) in taxonomy.nodes().iter().enumerate() {
        let ix = NodeIx(i as u32);
        let below = taxonomy.labelled_below(ix).len() as f64;
        if below == 0.0 || (below > TOO_BROAD * all && all > 1.0) {
            continue;
        }
        let mut say = |text: String, detail| {
            out.push(CaptionEntry {
                text,
                node: Some(node.id.clone()),
                detail,
            });
        };
        for name in node.names.iter().take(NAMES) {
            say(with_article(name), 0);
        }
        if node.labelled {
            for place in PLACES {
                say(format!("{} {place}", with_article(taxonomy.name(ix))), 1);
            }
        }
    }
    out.sort_by_key(|caption| caption.detail);
    out
}

/// Captions from a file: JSON lines with `text`, `node`, `detail`, or one plain caption a line.
///
/// # Errors
/// Bad usage naming the line that cannot be read, or a node that the taxonomy lacks.
pub fn from_file(path: &Path, taxonomy: &Taxonomy) -> anyhow::Result<Vec<CaptionEntry>> {
    let at = |line: usize, what: String| usage(format!("{}, line {line}: {what}", path.display()));
    let text = std::fs::read_to_string(path)
        .map_err(|e| usage(format!("--captions {}: {e}", path.display())))?;
    let mut out: Vec<CaptionEntry> = Vec::new();
    for (i, line) in text
        .lines()
        .enumerate()
        .filter(|(_, l)| !l.trim().is_empty())
    {
        let entry = if line.trim_start().starts_with('{') {
            serde_json::from_str(line).map_err(|e| at(i + 1, e.to_string()))?
        } else {
            CaptionEntry {
                text: line.trim().to_owned(),
                node: None,
                detail: 0,
            }
        };
        if let Some(id) = &entry.node
            && taxonomy.find(id).is_none()
        {
            return Err(at(i + 1, format!("node `{id}` is not in the taxonomy")));
        }
        out.push(entry);
    }
    if out.is_empty() {
        return Err(usage(format!(
            "--captions {}: no caption in it",
            path.display()
        )));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "synset\tnames\thypernyms\tlabelled\n\
        r\tthing\t\t0\n\
        a\tanimal|beast\tr\t0\n\
        p\tpenguin\ta\t1\n\
        c\tcat\ta\t1\n\
        t\ttable\tr\t1\n\
        u\tumbrella\tr\t1\n";

    #[test]
    fn every_telling_node_is_named_and_every_label_placed() {
        let taxonomy = Taxonomy::from_tsv(TREE).unwrap();
        let entries = of_taxonomy(&taxonomy);
        let texts: Vec<&str> = entries.iter().map(|e| e.text.as_str()).collect();
        assert_eq!(
            texts[..6],
            [
                "an animal",
                "a beast",
                "a penguin",
                "a cat",
                "a table",
                "an umbrella"
            ]
        );
        assert!(texts.contains(&"an umbrella on the left"));
        assert!(
            !texts.contains(&"a thing"),
            "the root lies above every label"
        );
        assert_eq!(texts.len(), 6 + 4 * PLACES.len());
    }

    #[test]
    fn a_line_with_an_unknown_node_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("captions.jsonl");
        let lines = "a plain caption\n{\"text\":\"a dodo\",\"node\":\"n9\"}\n";
        std::fs::write(&path, lines).unwrap();
        let error = from_file(&path, &Taxonomy::from_tsv(TREE).unwrap()).unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("line 2: node `n9` is not in the taxonomy"),
            "{error}"
        );
    }
}
