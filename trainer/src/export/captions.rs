//! The texts of a bundle's index.

use std::path::Path;

use espalier_core::caption::CaptionEntry;
use espalier_core::taxonomy::{NodeIx, Taxonomy};
use espalier_core::words::with_article;
use espalier_io::disk::read;
use espalier_io::exit::usage;

/// Positions that a caption can add to an object.
const PLACES: [&str; 7] = [
    "in the middle",
    "on the left",
    "on the right",
    "at the top",
    "at the bottom",
    "seen up close",
    "in the distance",
];

/// Returns the name that reads best after an article: the first, unless another one adds the kind
/// of the object, as "placental mammal" does for "placental".
fn readable_name(taxonomy: &Taxonomy, ix: NodeIx) -> &str {
    let (first, node) = (taxonomy.name(ix), taxonomy.node(ix));
    let is_kind = |last: &str| {
        let mut parents = node.parents.iter().map(|parent| taxonomy.name(*parent));
        parents.any(|parent| parent.split(' ').next_back() == Some(last))
    };
    let adds_kind = |name: &&String| {
        let rest = name.strip_prefix(first);
        rest.and_then(|r| r.strip_prefix(' ')).is_some_and(is_kind)
    };
    node.names.iter().find(adds_kind).map_or(first, |name| name)
}

/// Returns the captions of every node of a taxonomy that a person would name. Each node has one
/// name, so that a ladder and the tree use the same words. `with_places` adds captions with
/// positions in the image for labels.
pub fn of_taxonomy(taxonomy: &Taxonomy, with_places: bool) -> Vec<CaptionEntry> {
    let mut out = Vec::new();
    for (i, node) in taxonomy.nodes().iter().enumerate() {
        let ix = NodeIx(i as u32);
        if !taxonomy.is_nameable(ix) {
            continue;
        }
        let mut add = |text: String, detail| {
            out.push(CaptionEntry {
                text,
                node: Some(node.id.clone()),
                detail,
            });
        };
        let name = with_article(readable_name(taxonomy, ix));
        if node.labelled && with_places {
            for place in PLACES {
                add(format!("{name} {place}"), 1);
            }
        }
        add(name, 0);
    }
    out.sort_by_key(|caption| caption.detail);
    out
}

/// Returns the captions from a file: JSON lines with `text`, `node`, `detail`, or one plain caption
/// per line.
///
/// # Errors
/// Bad usage for a line that cannot be read (the message names it), or a node that the taxonomy
/// lacks.
pub fn from_file(path: &Path, taxonomy: &Taxonomy) -> anyhow::Result<Vec<CaptionEntry>> {
    let at = |line: usize, what: String| usage(format!("{}, line {line}: {what}", path.display()));
    let text =
        read::text(path).map_err(|e| usage(format!("--captions {}: {e}", path.display())))?;
    let mut out: Vec<CaptionEntry> = Vec::new();
    let lines = text.lines().enumerate();
    for (i, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
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
            "--captions {}: expected at least one caption, found none",
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
        p\tplacental|eutherian|placental animal\ta\t1\n\
        c\tcat\ta\t1\n\
        n03575240\tinstrumentality\tr\t0\n\
        t\ttable\tn03575240\t1\n\
        u\tumbrella\tr\t1\n";

    #[test]
    fn nameable_nodes_have_a_caption_and_labels_also_positions() {
        let taxonomy = Taxonomy::from_tsv(TREE).unwrap();
        assert_eq!(of_taxonomy(&taxonomy, false).len(), 5);
        let entries = of_taxonomy(&taxonomy, true);
        let texts: Vec<&str> = entries.iter().map(|e| e.text.as_str()).collect();
        assert_eq!(
            texts[..5],
            [
                "an animal",
                "a placental animal",
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
        assert_eq!(texts.len(), 5 + 4 * PLACES.len());
    }

    #[test]
    fn the_error_for_an_unknown_node_names_the_line() {
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
