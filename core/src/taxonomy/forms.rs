//! Text formats of a taxonomy, detected by their beginning.

use super::{Taxonomy, csv, edges, indented, lineages, newick, parse, ranks};
use crate::error::Result;

impl Taxonomy {
    /// Reads a taxonomy in one of these formats, detected by the first line.
    ///
    /// - Columns `synset`, `names` (`|`), `hypernyms` (`|`), `labelled` (0 or 1), separated by
    ///   tabs; the lines may have any order.
    /// - One lineage per line: columns of ranks from `kingdom` to `species`, then optionally
    ///   `common_name`. The last rank is labelled; the id of a node is its lineage joined by `/`,
    ///   and the root is `Eukarya`.
    /// - Edges without a header, `parent child` separated by blanks, as in `imagenet_isa.txt`.
    ///   Nodes without children are labelled; names are the ids.
    ///
    /// # Errors
    /// [`crate::CoreError::Taxonomy`] with the line: a missing header, a wrong number of columns,
    /// an empty name or rank, a repeated id or lineage, a missing hypernym, a second root, a cycle.
    pub fn from_tsv(text: &str) -> Result<Self> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let first = text.lines().next().unwrap_or_default();
        let entries = if ranks::is_header(first) {
            ranks::read(text)?
        } else if edges::is_edge(first) {
            edges::read(text)?
        } else {
            parse::read(text)?
        };
        Self::from_entries(entries)
    }

    /// Reads a visitor's own tree: a tab-separated format of [`Taxonomy::from_tsv`], indented text,
    /// CSV with one lineage per line, or Newick.
    ///
    /// # Errors
    /// As [`Taxonomy::from_tsv`], with the line.
    pub fn from_text(text: &str) -> Result<Self> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let first = text.lines().find(|l| !l.trim().is_empty()).unwrap_or("");
        let is_tsv = first.contains('\t') && !first.starts_with('\t');
        if is_tsv {
            return Self::from_tsv(text);
        }
        let lineages = if newick::is_newick(text) {
            newick::read(text)?
        } else if let Some(separator) = csv::separator(first) {
            csv::read(text, separator)?
        } else {
            indented::read(text)?
        };
        Self::from_entries(lineages::read(lineages)?)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_begins_with_a_tab_is_indented_text() {
        let error = Taxonomy::from_text("\tanimal\n\t\tcat\n");
        let table = Taxonomy::from_text("a\tanimal\n\t\tcat\n").unwrap_err();
        assert!(table.to_string().contains("header"), "{table}");
        match error {
            Ok(tree) => assert_eq!(tree.nodes().len(), 2),
            Err(error) => assert!(!error.to_string().contains("header"), "{error}"),
        }
    }
}
