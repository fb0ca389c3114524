//! Conversion of lineages to one tree; all formats of a visitor's own tree are read as lineages.

use std::collections::HashMap;

use super::node::{Node, NodeIx};
use super::parse::{Entry, fail};
use crate::error::Result;

/// Name of the root that is added if the lineages do not share their first name.
pub const ROOT: &str = "everything";

/// Names from the most general one down, and their line.
pub(super) struct Lineage {
    pub(super) line: usize,
    pub(super) names: Vec<String>,
}

/// Converts lineages to nodes, the root first. A node is a lineage up to its name, so a name that
/// is used in two branches gives two nodes; its id is that lineage joined by `/`. Nodes without
/// children are labelled. Synonyms of a name are separated by `|`.
pub(super) fn read(lineages: &[Lineage]) -> Result<Vec<Entry>> {
    let Some(first) = lineages.first() else {
        return fail(0, "expected at least one name, found none");
    };
    for lineage in lineages {
        let empty = lineage.names.is_empty() || lineage.names.iter().any(|n| n.trim().is_empty());
        if empty {
            return fail(lineage.line, "a name is empty");
        }
    }
    let shared = lineages.iter().all(|l| l.names[0] == first.names[0]);
    let mut entries: Vec<Entry> = Vec::new();
    let mut places: HashMap<String, NodeIx> = HashMap::new();
    let mut add = |names: &[&str], parent: Option<NodeIx>, line, entries: &mut Vec<Entry>| {
        let id = names.join("/");
        if let Some(known) = places.get(&id) {
            return *known;
        }
        let ix = NodeIx(u32::try_from(entries.len()).unwrap_or(u32::MAX));
        let last = names.last().copied().unwrap_or_default();
        let words = last.split('|').map(str::trim).filter(|n| !n.is_empty());
        let node = Node {
            id: id.clone(),
            names: words.map(str::to_owned).collect(),
            parents: parent.into_iter().collect(),
            labelled: true,
        };
        entries.push(Entry { node, line });
        if let Some(parent) = parent {
            entries[parent.index()].node.labelled = false;
        }
        places.insert(id, ix);
        ix
    };
    for lineage in lineages {
        let names = lineage.names.iter().map(|n| n.trim());
        let names: Vec<&str> = if shared {
            names.collect()
        } else {
            std::iter::once(ROOT).chain(names).collect()
        };
        let mut above = None;
        for end in 1..=names.len() {
            above = Some(add(&names[..end], above, lineage.line, &mut entries));
        }
    }
    if let Some(nameless) = entries.iter().find(|e| e.node.names.is_empty()) {
        return fail(nameless.line, "a name is empty");
    }
    Ok(entries)
}
