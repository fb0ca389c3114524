//! Taxonomies with one lineage per line: columns of ranks, from general to specific.
//!
//! ```text
//! kingdom    phylum     …  species    common_name
//! Animalia   Mollusca   …  tuberculata  purple wartyback
//! ```
//!
//! A node is a lineage up to its rank, so a genus name that is used in two families gives two
//! nodes. Its id is that lineage joined by `/`.

use std::collections::HashMap;

use super::node::NodeIx;
use super::parse::{Entry, check_count, fail, id_of, names_of};
use crate::error::Result;

/// Names of the rank columns, in their order.
pub const RANKS: [&str; 7] = [
    "kingdom", "phylum", "class", "order", "family", "genus", "species",
];

/// Column with an additional name of the last rank.
const COMMON: &str = "common_name";

/// Name and id of the node above all kingdoms.
pub const ROOT: &str = "Eukarya";

/// Returns whether a header belongs to this format.
pub(super) fn is_header(header: &str) -> bool {
    let first = header.split('\t').next();
    first.is_some_and(|first| RANKS.contains(&first.trim()))
}

fn check_header(header: &str) -> Result<usize> {
    let columns: Vec<&str> = header.split('\t').map(str::trim).collect();
    let ranks: Vec<&str> = columns.iter().copied().filter(|c| *c != COMMON).collect();
    let places = ranks.iter().map(|c| RANKS.iter().position(|r| r == c));
    let places: Vec<Option<usize>> = places.collect();
    let grows = places.windows(2).all(|w| w[0] < w[1]) && places.iter().all(Option::is_some);
    let last = columns.iter().position(|c| *c == COMMON);
    if ranks.len() < 2 || !grows || last.is_some_and(|at| at != ranks.len()) {
        return fail(
            1,
            format!(
                "expected two or more of the columns {} in this order, then optionally {COMMON}; \
                 found {}",
                RANKS.join(", "),
                columns.join(", ")
            ),
        );
    }
    Ok(ranks.len())
}

/// Reads the lines into nodes, the root first.
pub(super) fn read(text: &str) -> Result<Vec<Entry>> {
    let mut lines = (1..).zip(text.lines());
    let header = lines.next().map_or("", |(_, line)| line);
    let ranks = check_header(header)?;
    let root = Entry::new(1, ROOT.to_owned(), names_of(ROOT), Vec::new(), false);
    let mut entries = vec![root];
    let mut places: HashMap<String, NodeIx> = HashMap::new();
    for (line, row) in lines.filter(|(_, row)| !row.trim().is_empty()) {
        let fields: Vec<&str> = row.split('\t').map(str::trim).collect();
        if fields.len() < ranks || fields.len() > ranks + 1 {
            let expected = header.split('\t').count();
            return fail(
                line,
                format!("expected {expected} columns, found {}", fields.len()),
            );
        }
        if let Some(at) = fields[..ranks]
            .iter()
            .position(|name| names_of(name).is_empty())
        {
            let rank = header.split('\t').nth(at).unwrap_or_default();
            return fail(line, format!("the {rank} is empty"));
        }
        check_count(line, entries.len())?;
        let mut above = NodeIx(0);
        for rank in 0..ranks {
            let id = id_of(None, &fields[..=rank].join("/"));
            let last = rank + 1 == ranks;
            if let Some(&known) = places.get(&id) {
                if last {
                    let first = entries[known.index()].line;
                    return fail(line, format!("the lineage {id} is already on line {first}"));
                }
                above = known;
                continue;
            }
            let ix = NodeIx(u32::try_from(entries.len()).unwrap_or(u32::MAX));
            let mut names = names_of(fields[rank]);
            if last {
                let common = fields.get(ranks).map(|name| names_of(name));
                names.extend(common.into_iter().flatten());
            }
            entries.push(Entry::new(line, id.clone(), names, vec![above], last));
            places.insert(id, ix);
            above = ix;
        }
    }
    if entries.len() == 1 {
        return fail(0, "expected at least one lineage, found none");
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(columns: &[&str]) -> Result<usize> {
        check_header(&columns.join("\t"))
    }

    #[test]
    fn a_header_has_two_or_more_ranks_in_order_and_then_common_names() {
        let (first, second, last) = (RANKS[0], RANKS[1], RANKS[RANKS.len() - 1]);
        assert_eq!(header(&[first, second]).unwrap(), 2);
        assert_eq!(header(&[first, last]).unwrap(), 2);
        assert_eq!(header(&RANKS).unwrap(), RANKS.len());
        assert_eq!(header(&[first, second, last, COMMON]).unwrap(), 3);
        for bad in [
            &[first][..],
            &[first, COMMON],
            &[second, first],
            &[first, first],
            &[first, "tribe"],
            &["tribe", first],
            &[COMMON, first, second],
            &[first, COMMON, second],
        ] {
            let error = header(bad).unwrap_err().to_string();
            assert!(error.contains("in this order"), "{bad:?}: {error}");
        }
    }

    /// Reads rows below a header of two ranks, with or without common names.
    fn rows(common: bool, rows: &[&str]) -> Result<Vec<Entry>> {
        let header = [RANKS[0], RANKS[1], COMMON];
        let header = header[..if common { 3 } else { 2 }].join("\t");
        read(&format!("{header}\n{}\n", rows.join("\n")))
    }

    #[test]
    fn a_row_has_a_field_for_each_rank_and_at_most_one_more() {
        let entries = rows(true, &["A\tB\tbees", "A\tC"]).unwrap();
        let found = entries.iter().map(|Entry { node, line }| {
            let star = if node.labelled { "*" } else { "" };
            format!("{line} {}{star}, ", node.names.join("|"))
        });
        let expected = "1 Eukarya, 2 A, 2 B|bees*, 3 C*, ";
        assert_eq!(found.collect::<String>(), expected);
        for bad in ["A", "A\tB\tbees\tmore", "A\tB\tbees\tmore\tand more"] {
            let error = rows(true, &[bad]).unwrap_err().to_string();
            assert!(error.contains("expected 3 columns"), "{bad}: {error}");
        }
        let error = rows(false, &["A\tB", "A\t \tbees"]).unwrap_err();
        assert_eq!(error.to_string(), "taxonomy, line 3: the phylum is empty");
    }
}
