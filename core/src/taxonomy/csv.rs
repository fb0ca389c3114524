//! Trees as CSV: one lineage per line, from general to specific, `animal,bird,thrush`.
//!
//! The separator is a comma or a semicolon; cells may be quoted. Empty cells at the end are
//! ignored, so lineages may have different lengths. A header of ranks (`kingdom,…`) is ignored too, and so are
//! the prefixes of ranks of GTDB (`d__Bacteria;p__…`).

use super::lineages::Lineages;
use super::parse::fail;
use super::ranks::RANKS;
use super::taxa;
use crate::error::Result;

/// Returns the separator if a text is in this format: its first line contains one.
pub(super) fn separator(first: &str) -> Option<char> {
    [';', ','].into_iter().find(|c| first.contains(*c))
}

/// Reads the lines into lineages.
pub(super) fn read(text: &str, separator: char) -> Result<Lineages> {
    let mut lineages = Lineages::default();
    for (line, row) in (1..).zip(text.lines()) {
        let mut names = cells(row, separator, line)?;
        while names.last().is_some_and(String::is_empty) {
            names.pop();
        }
        let is_rank = |name: &String| RANKS.contains(&name.to_lowercase().as_str());
        let header = line == 1 && names.iter().any(is_rank);
        if names.is_empty() || header {
            continue;
        }
        if names.iter().any(String::is_empty) {
            return fail(line, "a cell between two others is empty");
        }
        push(&mut lineages, line, names)?;
    }
    Ok(lineages)
}

/// Returns whether a line is one of GTDB's: an accession, a tab and a lineage.
pub(super) fn is_gtdb(line: &str) -> bool {
    let lineage = line.split_once('\t');
    lineage.is_some_and(|(_, lineage)| lineage.contains(';') && taxa::has_rank(lineage.trim()))
}

/// Reads GTDB's lines into lineages; the accessions are left out.
pub(super) fn read_gtdb(text: &str) -> Result<Lineages> {
    let mut lineages = Lineages::default();
    for (line, row) in (1..).zip(text.lines()) {
        if row.trim().is_empty() {
            continue;
        }
        if !is_gtdb(row) {
            let expected = "an accession, a tab and a lineage `d__…;p__…`";
            return fail(line, format!("expected {expected}, found `{row}`"));
        }
        let lineage = row.split_once('\t').map_or("", |(_, lineage)| lineage);
        push(&mut lineages, line, cells(lineage, ';', line)?)?;
    }
    Ok(lineages)
}

/// Adds a lineage without the prefixes of ranks; ranks without a name are left out.
fn push(lineages: &mut Lineages, line: usize, cells: Vec<String>) -> Result<()> {
    let names = cells.iter().map(|cell| taxa::without_ranks(cell));
    let names: Vec<String> = names.filter(|name| !name.is_empty()).collect();
    lineages.push(line, names.iter().map(String::as_str))
}

fn cells(row: &str, separator: char, line: usize) -> Result<Vec<String>> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    let mut rest = row.chars().peekable();
    while let Some(c) = rest.next() {
        let last = cells.len() - 1;
        match c {
            '"' if quoted && rest.peek() == Some(&'"') => {
                rest.next();
                cells[last].push('"');
            }
            '"' => quoted = !quoted,
            c if c == separator && !quoted => cells.push(String::new()),
            c => cells[last].push(c),
        }
    }
    if quoted {
        return fail(line, "a quoted cell is not closed");
    }
    Ok(cells.into_iter().map(|c| c.trim().to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use crate::taxonomy::Taxonomy;

    #[test]
    fn two_quotes_within_a_quoted_cell_are_one() {
        let tree = Taxonomy::from_text("animal,\"a \"\"big\"\" cat\"\nanimal,dog\n").unwrap();
        assert_eq!(tree.nodes()[1].names, ["a \"big\" cat"]);
    }

    #[test]
    fn lines_are_lineages_of_any_length() {
        let text = "kingdom,class,species\nanimal,bird,\"thrush, song\"\nanimal,cat,\n";
        let tree = Taxonomy::from_text(text).unwrap();
        let ids: Vec<&str> = tree.nodes().iter().map(|n| n.id.as_str()).collect();
        let expected = "animal; animal/bird; animal/bird/thrush, song; animal/cat";
        assert_eq!(ids.join("; "), expected);
        assert_eq!(tree.labelled().len(), 2);
    }

    #[test]
    fn semicolons_part_cells_where_there_are_any() {
        let tree = Taxonomy::from_text("tool;saw\ntoy;doll, small\n").unwrap();
        assert_eq!(tree.name(tree.labelled()[1]), "doll, small");
        assert_eq!(tree.name(tree.root()), "everything");
    }

    #[test]
    fn holes_and_open_quotes_are_named() {
        let message = |text: &str| Taxonomy::from_text(text).unwrap_err().to_string();
        assert!(message("a,b\nc,,d\n").contains("line 2: a cell between two others is empty"));
        assert!(message("a,b\n\"c,d\n").contains("line 2: a quoted cell is not closed"));
    }
}
