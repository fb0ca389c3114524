//! The forms that a taxonomy is read in, told apart by how they begin.

use super::{Taxonomy, csv, edges, indented, lineages, newick, parse, ranks};
use crate::error::Result;

impl Taxonomy {
    /// Reads a taxonomy in one of its forms, told apart by the first line.
    ///
    /// - Columns `synset`, `names` (`|`), `hypernyms` (`|`), `labelled` (0 or 1), separated by tabs;
    ///   the lines may come in any order.
    /// - One lineage a line: columns of ranks from `kingdom` to `species`, then perhaps
    ///   `common_name`. The last rank is labelled; a node's id is its lineage joined by `/`, and the
    ///   root is `Eukarya`.
    /// - Edges without a header, `parent child` separated by blanks, as `imagenet_isa.txt` has them.
    ///   Nodes without children are labelled; names are the ids.
    ///
    /// # Errors
    /// [`crate::CoreError::Taxonomy`] with the line: a missing header, a wrong number of columns, an
    /// empty name or rank, an id or lineage given twice, a hypernym that is missing, a second root,
    /// a cycle.
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

    /// Reads a tree as a visitor may have it: the forms of [`Taxonomy::from_tsv`] with tabs, indented
    /// text, CSV with one lineage a line, and Newick.
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
        Self::from_entries(lineages::read(&lineages)?)
    }
}
