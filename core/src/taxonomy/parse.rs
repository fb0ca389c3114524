//! The TSV format of a taxonomy.
//!
//! ```text
//! synset     names        hypernyms            labelled
//! n00000001  entity                            0
//! n00000002  dog|hound    n00000001            1
//! ```
//!
//! Columns are separated by tabs, entries of a list by `|`. The header is required; the lines may
//! have any order.

use std::collections::HashMap;

use super::node::{Node, NodeIx};
use crate::error::{CoreError, Result};

/// Most nodes of a taxonomy. A tree of ten levels reaches the limit of the pairs of nodes above each
/// other ([`super::graph`]) about here; this one is checked while reading, before the nodes take memory.
const MAX_NODES: usize = 2_000_000;

const COLUMNS: [&str; 4] = ["synset", "names", "hypernyms", "labelled"];

/// A node and its line.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) node: Node,
    pub(super) line: usize,
}

impl Entry {
    pub(super) fn new(
        line: usize,
        id: String,
        names: Vec<String>,
        parents: Vec<NodeIx>,
        labelled: bool,
    ) -> Self {
        let node = Node {
            id,
            names,
            parents,
            labelled,
            support: None,
        };
        Self { node, line }
    }
}

/// Returns an error at a line; line 0 means the file as a whole.
pub(super) fn fail<T>(line: usize, reason: impl Into<String>) -> Result<T> {
    Err(CoreError::Taxonomy {
        line,
        reason: reason.into(),
    })
}

/// Checks the number of nodes read so far.
pub(super) fn check_count(line: usize, count: usize) -> Result<()> {
    if count <= MAX_NODES {
        return Ok(());
    }
    fail(
        line,
        format!("expected at most {MAX_NODES} nodes, found more; remove nodes that no label needs"),
    )
}

/// Returns the id of a node that has none in its file: the id of its parent, `/` and its name. `|`
/// separates the ids in a list, so it becomes `¦`.
pub(super) fn id_of(parent: Option<&str>, name: &str) -> String {
    let name = name.replace('|', "¦");
    match parent {
        Some(parent) => format!("{parent}/{name}"),
        None => name,
    }
}

/// Returns the names in a list separated by `|`, without empty ones.
pub(super) fn names_of(list: &str) -> Vec<String> {
    let names = list.split('|').map(str::trim).filter(|n| !n.is_empty());
    names.map(str::to_owned).collect()
}

/// Reads the lines and resolves parents. [`super::Taxonomy`] checks that the nodes form one graph
/// without cycles.
pub(super) fn read(text: &str) -> Result<Vec<Entry>> {
    let mut lines = (1..).zip(text.lines());
    let header = lines.next().map_or("", |(_, line)| line);
    if !header.split('\t').map(str::trim).eq(COLUMNS) {
        return fail(
            1,
            format!(
                "expected the header `{}`, found `{header}`",
                COLUMNS.join("<tab>")
            ),
        );
    }
    let rows: Vec<Row> = lines
        .filter(|(_, line)| !line.trim().is_empty())
        .enumerate()
        .map(|(count, (number, line))| {
            check_count(number, count + 1)?;
            row(number, line)
        })
        .collect::<Result<_>>()?;
    if rows.is_empty() {
        return fail(0, "expected at least one node, found none");
    }
    let mut places: HashMap<&str, (NodeIx, usize)> = HashMap::with_capacity(rows.len());
    for (ix, row) in (0..).map(NodeIx).zip(&rows) {
        if let Some((_, first)) = places.insert(row.id, (ix, row.line)) {
            return fail(row.line, format!("`{}` is already on line {first}", row.id));
        }
    }
    let entry = |row: &Row| {
        let mut parents: Vec<NodeIx> = Vec::with_capacity(row.parents.len());
        for &parent in &row.parents {
            let Some(&(ix, _)) = places.get(parent) else {
                let id = row.id;
                return fail(
                    row.line,
                    format!("`{id}` has the parent `{parent}`, which is missing"),
                );
            };
            if parents.contains(&ix) {
                return fail(
                    row.line,
                    format!("`{}` has the parent `{parent}` twice", row.id),
                );
            }
            parents.push(ix);
        }
        let names = row.names.iter().map(|&n| n.to_owned()).collect();
        let id = row.id.to_owned();
        Ok(Entry::new(row.line, id, names, parents, row.labelled))
    };
    rows.iter().map(entry).collect()
}

struct Row<'a> {
    line: usize,
    id: &'a str,
    names: Vec<&'a str>,
    parents: Vec<&'a str>,
    labelled: bool,
}

fn row(line: usize, text: &str) -> Result<Row<'_>> {
    let fields: Vec<&str> = text.split('\t').map(str::trim).collect();
    let &[id, names, parents, labelled] = fields.as_slice() else {
        return fail(
            line,
            format!("expected {} columns, found {}", COLUMNS.len(), fields.len()),
        );
    };
    if id.is_empty() {
        return fail(line, "the synset is empty");
    }
    let names: Vec<&str> = names.split('|').map(str::trim).collect();
    if names.contains(&"") {
        return fail(line, format!("`{id}` has an empty name"));
    }
    let parents: Vec<&str> = match parents {
        "" => Vec::new(),
        list => list.split('|').map(str::trim).collect(),
    };
    if parents.contains(&"") {
        return fail(line, format!("`{id}` has an empty hypernym"));
    }
    let labelled = match labelled {
        "0" => false,
        "1" => true,
        other => return fail(line, format!("`labelled` must be 0 or 1, found `{other}`")),
    };
    Ok(Row {
        line,
        id,
        names,
        parents,
        labelled,
    })
}

/// Writes the format that [`read`] reads.
pub(super) fn write(nodes: &[Node]) -> String {
    let mut out = COLUMNS.join("\t");
    out.push('\n');
    for node in nodes {
        let parents: Vec<&str> = node
            .parents
            .iter()
            .map(|p| nodes[p.index()].id.as_str())
            .collect();
        let labelled = if node.labelled { "1" } else { "0" };
        let fields = [
            &node.id,
            &node.names.join("|"),
            &parents.join("|"),
            labelled,
        ];
        out.push_str(&fields.join("\t"));
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_million_nodes_are_the_most() {
        assert!(check_count(1, MAX_NODES).is_ok());
        let error = check_count(7, MAX_NODES + 1).unwrap_err().to_string();
        assert!(
            error.contains("line 7") && error.contains("2000000"),
            "{error}"
        );
    }
}
