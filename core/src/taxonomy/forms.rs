//! Text formats of a taxonomy, detected by their beginning.

use super::sniff::{self, Format};
use super::{Taxonomy, csv, edges, indented, lineages, newick, nexus, parse, ranks};
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

    /// Reads a file in any format: edges as [`Taxonomy::from_tsv`], everything else as
    /// [`Taxonomy::from_text`]. A text without tabs and indented lines whose first line has two words is a list
    /// of edges.
    ///
    /// # Errors
    /// As [`Taxonomy::from_text`].
    pub fn from_file(text: &str) -> Result<Self> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut rows = text.lines().filter(|row| !row.trim().is_empty());
        let is_edges = rows.clone().next().is_some_and(edges::is_edge)
            && !rows.any(|row| row.starts_with(char::is_whitespace));
        match is_edges {
            true => Self::from_tsv(text),
            false => Self::from_text(text),
        }
    }

    /// Reads a tree as people and programs write it: a tab-separated format of [`Taxonomy::from_tsv`],
    /// indented text, CSV with one lineage per line, lineages of GTDB, Newick, or NEXUS. What it does not
    /// know is refused by name.
    ///
    /// # Errors
    /// As [`Taxonomy::from_tsv`], with the line; also for text in another format.
    pub fn from_text(text: &str) -> Result<Self> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let of_lineages = |found| Self::from_entries(lineages::read(found)?);
        let (tree, count) = match sniff::format(text)? {
            Format::Tabs => return Self::from_tsv(text),
            Format::Lineages(separator) => return of_lineages(csv::read(text, separator)?),
            Format::Gtdb => return of_lineages(csv::read_gtdb(text)?),
            Format::Indented => return of_lineages(indented::read(text)?),
            Format::Newick => newick::read(text, 1)?,
            Format::Nexus => nexus::read(text)?,
        };
        let entries = tree.entries()?;
        let supports = entries.iter().filter(|e| e.node.support.is_some()).count();
        let several = (count > 1)
            .then(|| format!("The text has several trees: this is the first of {count} trees."));
        let support = (supports > 0)
            .then(|| format!("Numbers at inner nodes ({supports}) are support values, not names."));
        let notes: Vec<String> = several.into_iter().chain(support).collect();
        let note = (!notes.is_empty()).then(|| notes.join(" "));
        Ok(Self::from_entries(entries)?.with_note(note))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_begins_with_a_tab_is_indented_text() {
        let tree = Taxonomy::from_text("\tanimal\n\t\tcat\n").unwrap();
        assert_eq!(tree.nodes().len(), 2);
        let table = Taxonomy::from_text("a\tanimal\n\t\tcat\n").unwrap_err();
        assert!(table.to_string().contains("header"), "{table}");
    }
}
