//! Detection of a tree's format by what its text contains. Text in a known format of another kind is refused by
//! name: read as indented text it would be a tree of nonsense.

use super::parse::fail;
use super::{csv, newick, nexus};
use crate::error::Result;

/// A format that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Columns separated by tabs, with a header.
    Tabs,
    /// One lineage per line, with this separator.
    Lineages(char),
    /// An accession, a tab and a lineage per line.
    Gtdb,
    /// One name per line, deeper ones indented.
    Indented,
    /// Nested brackets.
    Newick,
    /// Blocks of commands, one with trees.
    Nexus,
}

/// Returns the format of a text.
///
/// # Errors
/// [`crate::CoreError::Taxonomy`] that names a format that is not read, and what to do instead.
pub(super) fn format(text: &str) -> Result<Format> {
    let first = text.lines().find(|l| !l.trim().is_empty()).unwrap_or("");
    if nexus::is_nexus(text) {
        return Ok(Format::Nexus);
    }
    if let Some((line, found, instead)) = foreign(text, first) {
        return fail(line, format!("found {found}, which is not read; {instead}"));
    }
    Ok(if csv::is_gtdb(first) {
        Format::Gtdb
    } else if first.contains('\t') && !first.starts_with('\t') {
        Format::Tabs
    } else if newick::is_newick(text) {
        Format::Newick
    } else if let Some(separator) = csv::separator(first) {
        Format::Lineages(separator)
    } else {
        Format::Indented
    })
}

/// Returns the line of a text in another format, its name and what to do; `None` for a format that is read.
fn foreign(text: &str, first: &str) -> Option<(usize, &'static str, &'static str)> {
    const INDENTED: &str = "write one name per line, deeper names indented further";
    const NEWICK: &str = "export the tree as Newick or NEXUS";
    let line_of = |test: &dyn Fn(&str) -> bool| (1..).zip(text.lines()).find(|(_, row)| test(row));
    let start = text.trim_start();
    let inner = start.get(1..).unwrap_or("").trim_start();
    let cell = |name: &str| {
        let mut cells = first
            .split([',', ';', '\t'])
            .map(|cell| cell.trim().trim_matches('"'));
        cells.any(|cell| cell.eq_ignore_ascii_case(name))
    };
    if let Some((line, _)) = line_of(&|row| row.contains(|c: char| c < '\t')) {
        return Some((line, "binary data", "choose a text file"));
    }
    let of_first_line = |found, instead| Some((1, found, instead));
    if start.starts_with("version https://git-lfs") {
        return of_first_line("a pointer of Git LFS", "fetch the file with `git lfs pull`");
    }
    if start.starts_with('<') {
        return of_first_line("XML or a web page", NEWICK);
    }
    if start.starts_with('{') || start.starts_with('[') && inner.starts_with(['{', '"', '[', ']']) {
        return of_first_line("JSON", INDENTED);
    }
    if first.contains("\t|") {
        let instead = "write its lineages as CSV, one per line";
        return of_first_line("a table of NCBI's taxonomy dump", instead);
    }
    if first.trim_start().starts_with('>') {
        return of_first_line("sequences (FASTA)", NEWICK);
    }
    let mut parents = ["parent", "parent_id", "parentid", "parent id"].into_iter();
    if parents.any(cell) && !cell("hypernyms") {
        let instead = "write one lineage per line, from general to specific";
        return of_first_line("a table of nodes and their parents", instead);
    }
    if newick::is_newick(text) {
        return None;
    }
    if let Some((line, _)) = line_of(&|row| row.trim_start().starts_with('|')) {
        return Some((line, "a table or a tree drawn with `|`", INDENTED));
    }
    if let Some((line, _)) = line_of(&|row| row.contains("->")) {
        return Some((line, "a graph with arrows", INDENTED));
    }
    let is_tree = |row: &str| row.contains('(') && row.trim_end().ends_with(';');
    let (line, _) = line_of(&is_tree)?;
    let instead = "remove what comes before the first bracket";
    Some((line, "Newick after other text", instead))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::taxonomy::Taxonomy;

    #[test]
    fn formats_that_are_not_read_are_refused_by_name() {
        for (text, found) in [
            ("{\"name\":\"animal\",\"children\":[]}", "JSON"),
            ("[{\"name\":\"animal\"}]", "JSON"),
            ("<?xml version=\"1.0\"?><phyloxml/>", "XML"),
            ("<!DOCTYPE html>", "web page"),
            (
                "version https://git-lfs.github.com/spec/v1\noid sha256:1",
                "Git LFS",
            ),
            ("1\t|\t1\t|\tno rank\t|\n", "NCBI"),
            (">seq1\nACGT\n", "FASTA"),
            ("id,parent_id,name\n1,,animal\n", "parents"),
            ("digraph {\n a -> b\n}\n", "arrows"),
            (
                "cellular organisms\n+ Bacteria\n| + Proteobacteria\n",
                "line 3: found a table or a tree drawn",
            ),
            ("tree: ((a,b)c,d)e;\n", "Newick after other text"),
            ("animal\n bird\u{0}\n", "line 2: found binary data"),
        ] {
            let message = Taxonomy::from_text(text).unwrap_err().to_string();
            assert!(message.contains(found), "{text}: {message}");
        }
    }

    #[test]
    fn known_formats_are_told_apart() {
        for (text, expected) in [
            ("synset\tnames\thypernyms\tlabelled\n", Format::Tabs),
            ("animal\n  bird (feathered)\n", Format::Indented),
            ("- tool\n\t- saw\n", Format::Indented),
            ("animal,bird,robin\n", Format::Lineages(',')),
            ("k__Bacteria;p__Firmicutes\n", Format::Lineages(';')),
            ("GB_GCA_1\td__Bacteria;p__Firmicutes\n", Format::Gtdb),
            (" [&R] ((a,b),c);", Format::Newick),
            ("#NEXUS\nbegin trees;", Format::Nexus),
        ] {
            assert_eq!(format(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn lineages_of_gtdb_give_one_node_a_taxon() {
        let text = "RS_1\td__Bacteria;p__A;s__A b\nRS_2\td__Bacteria;p__A;s__A b\nRS_3\td__Bacteria;p__;s__C d\n";
        let tree = Taxonomy::from_text(text).unwrap();
        let ids: Vec<&str> = tree.nodes().iter().map(|node| node.id.as_str()).collect();
        let expected = "Bacteria; Bacteria/A; Bacteria/A/A b; Bacteria/C d";
        assert_eq!(ids.join("; "), expected);
    }
}
