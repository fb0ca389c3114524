//! Typed words with their correct nodes in a taxonomy, to evaluate a text encoder.
//!
//! The columns `text` and `node` are separated by a tab; `node` holds the ids of the correct nodes,
//! separated by `|`. Any one of them counts as correct.

use std::collections::BTreeSet;
use std::path::Path;

use espalier_core::taxonomy::{NodeIx, Taxonomy};
use espalier_io::disk::read;

use crate::records::error::{DataError, Result};

/// Expected file format, for error messages.
pub const EXPECTED: &str = "a tab-separated table of typed words with the header text, node, where node holds \
     ids of the taxonomy separated by |";

/// A text and its correct nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedWord {
    /// The text as a user types it.
    pub text: String,
    /// The correct nodes; at least one.
    pub nodes: Vec<NodeIx>,
}

/// Reads a table.
///
/// # Errors
/// [`DataError`] if the file cannot be read. Also, with the line, for a wrong header, a wrong
/// number of columns, an empty text, a duplicate text, or an id that the taxonomy does not have;
/// and if there are no rows.
pub fn open(path: &Path, taxonomy: &Taxonomy) -> Result<Vec<TypedWord>> {
    if !path.is_file() {
        return Err(DataError::layout(path, EXPECTED, "no such file"));
    }
    let text = read::text(path).map_err(DataError::io(path))?;
    parse(&text, taxonomy).map_err(|found| DataError::layout(path, EXPECTED, found))
}

/// Parses a table; the error is what was found instead, with its line.
fn parse(text: &str, taxonomy: &Taxonomy) -> std::result::Result<Vec<TypedWord>, String> {
    let mut lines = (1_usize..).zip(text.lines());
    let header = lines.next().map_or("", |(_, line)| line);
    if header.trim_end() != "text\tnode" {
        return Err(format!("the first line `{header}`"));
    }
    let mut words: Vec<TypedWord> = Vec::new();
    let mut seen = BTreeSet::new();
    for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let fields: Vec<&str> = line.split('\t').map(str::trim).collect();
        let &[text, ids] = fields.as_slice() else {
            return Err(format!("{} columns in line {number}", fields.len()));
        };
        if text.is_empty() {
            return Err(format!("an empty text in line {number}"));
        }
        if !seen.insert(text) {
            return Err(format!("`{text}` for the second time in line {number}"));
        }
        let node = |id: &str| {
            let unknown = || format!("the node `{id}`, which the taxonomy lacks, in line {number}");
            taxonomy.find(id).ok_or_else(unknown)
        };
        let nodes: std::result::Result<_, _> = ids.split('|').map(node).collect();
        words.push(TypedWord {
            text: text.to_owned(),
            nodes: nodes?,
        });
    }
    if words.is_empty() {
        return Err("no row".into());
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taxonomy() -> Taxonomy {
        Taxonomy::from_tsv("synset\tnames\thypernyms\tlabelled\nr\tall\t\t0\nc\tcat\tr\t1\n")
            .unwrap()
    }

    #[test]
    fn rows_are_read_with_all_correct_nodes() {
        let words = parse("text\tnode\nmy kitty\tc\na pet\tc|r\n", &taxonomy()).unwrap();
        assert_eq!(words[0].text, "my kitty");
        assert_eq!(words[0].nodes, [NodeIx(1)]);
        assert_eq!(words[1].nodes, [NodeIx(1), NodeIx(0)]);
    }

    #[test]
    fn errors_name_the_line() {
        let cases = [
            ("a\tb\n", "the first line `a\tb`"),
            ("text\tnode\n", "no row"),
            ("text\tnode\nx\n", "1 columns in line 2"),
            ("text\tnode\n\tc\n", "an empty text in line 2"),
            (
                "text\tnode\nx\tc\nx\tr\n",
                "`x` for the second time in line 3",
            ),
            (
                "text\tnode\nx\tq\n",
                "the node `q`, which the taxonomy lacks, in line 2",
            ),
        ];
        for (text, found) in cases {
            assert_eq!(parse(text, &taxonomy()).unwrap_err(), found);
        }
    }
}
