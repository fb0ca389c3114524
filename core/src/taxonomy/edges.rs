//! Taxonomies as a list of edges, one `parent child` per line, as `imagenet_isa.txt` lists
//! WordNet's (notation 5.7).
//!
//! Nodes have the order in which they first occur. The name of a node is its id, and nodes without
//! children are labelled.

use std::collections::HashMap;

use super::node::NodeIx;
use super::parse::{Entry, check_count, fail};
use crate::error::Result;

/// Returns whether the first line is an edge rather than a header.
pub(super) fn is_edge(first: &str) -> bool {
    // Only formats with a header use tabs.
    !first.contains('\t') && first.split_whitespace().count() == 2
}

/// Reads the lines into nodes.
pub(super) fn read(text: &str) -> Result<Vec<Entry>> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut places: HashMap<String, NodeIx> = HashMap::new();
    let mut place = |id: &str, line: usize, entries: &mut Vec<Entry>| {
        *places.entry(id.to_owned()).or_insert_with(|| {
            let names = vec![id.to_owned()];
            entries.push(Entry::new(line, id.to_owned(), names, Vec::new(), true));
            NodeIx(u32::try_from(entries.len() - 1).unwrap_or(u32::MAX))
        })
    };
    for (line, row) in (1..)
        .zip(text.lines())
        .filter(|(_, row)| !row.trim().is_empty())
    {
        let fields: Vec<&str> = row.split_whitespace().collect();
        let &[parent, child] = fields.as_slice() else {
            return fail(line, format!("expected `parent child`, found `{row}`"));
        };
        if row.contains('|') {
            return fail(line, format!("expected ids without `|`, found `{row}`"));
        }
        if parent == child {
            return fail(line, format!("`{child}` is its own parent"));
        }
        check_count(line, entries.len())?;
        let parent_ix = place(parent, line, &mut entries);
        let child_ix = place(child, line, &mut entries);
        entries[parent_ix.index()].node.labelled = false;
        let parents = &mut entries[child_ix.index()].node.parents;
        if parents.contains(&parent_ix) {
            return fail(line, format!("`{child}` has the parent `{parent}` twice"));
        }
        parents.push(parent_ix);
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use crate::taxonomy::{Taxonomy, score};

    const EDGES: &str = "r a\nr b\na x\na y\nb z\n";

    #[test]
    fn edges_make_a_tree_whose_leaves_are_labelled() {
        let tree = Taxonomy::from_tsv(EDGES).unwrap();
        let id = |ix| tree.node(ix).id.clone();
        let labels = tree.labelled().iter().map(|ix| id(*ix));
        assert_eq!(labels.collect::<String>(), "xyz");
        assert_eq!(id(tree.root()), "r");
        let at = |id: &str| tree.find(id).unwrap();
        assert_eq!(score(&tree, at("x"), at("y")).tie, 2.0);
        assert_eq!(score(&tree, at("x"), at("z")).tie, 4.0);
        assert_eq!(tree.name(at("x")), "x");
    }

    #[test]
    fn lines_that_are_no_edges_are_named() {
        let message = |text: &str| Taxonomy::from_tsv(text).unwrap_err().to_string();
        for (second, expected) in [
            ("r b c", "expected `parent child`, found `r b c`"),
            ("a a", "`a` is its own parent"),
            ("r a", "`a` has the parent `r` twice"),
            ("a|b c", "expected ids without `|`, found `a|b c`"),
        ] {
            let expected = format!("taxonomy, line 2: {expected}");
            assert_eq!(message(&format!("r a\n{second}\n")), expected);
        }
        assert!(message("r a\nq b\n").contains("there must be one"));
        assert!(message("r a\na b\nb a\n").contains("a cycle"));
    }
}
