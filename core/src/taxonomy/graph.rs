//! The relations of the entries of a file, whatever its format: one root, no cycles, and for each
//! node what lies above and below it.

use std::collections::{BTreeSet, HashMap, VecDeque};

use super::node::{Node, NodeIx};
use super::parse::{Entry, fail};
use crate::error::Result;

/// Largest number of nodes above one node, over all its paths. WordNet has 40, the tree of life some
/// hundreds; relations of longer chains would take memory that grows with the square of their length.
const MAX_ABOVE: usize = 2_000;
/// Largest number of pairs of a node and one above it; the list of all takes 128 MB.
const MAX_PAIRS: usize = 32_000_000;

/// Returns the indices of `count` nodes.
pub(super) fn indices(count: usize) -> impl Iterator<Item = NodeIx> {
    (0..).map(NodeIx).take(count)
}

/// Returns the only node without parents.
///
/// # Errors
/// If there is none, or another one.
pub(super) fn root(entries: &[Entry]) -> Result<NodeIx> {
    let mut roots = indices(entries.len()).filter(|ix| entries[ix.index()].node.parents.is_empty());
    let Some(root) = roots.next() else {
        return fail(0, "there is no root: every node has a hypernym");
    };
    if let Some(second) = roots.next() {
        let (first, second) = (&entries[root.index()], &entries[second.index()]);
        return fail(
            second.line,
            format!(
                "`{}` has no hypernym, but the root is `{}` of line {}; there must be one",
                second.node.id, first.node.id, first.line
            ),
        );
    }
    Ok(root)
}

/// Returns the nodes that have each node as a parent, in the order of the file.
pub(super) fn children(entries: &[Entry]) -> Vec<Vec<NodeIx>> {
    let mut children = vec![Vec::new(); entries.len()];
    for (ix, entry) in (0..).map(NodeIx).zip(entries) {
        for parent in &entry.node.parents {
            children[parent.index()].push(ix);
        }
    }
    children
}

/// Returns all nodes, each after its parents.
///
/// # Errors
/// If nodes form a cycle.
pub(super) fn parents_first(entries: &[Entry], children: &[Vec<NodeIx>]) -> Result<Vec<NodeIx>> {
    let mut waiting_for: Vec<usize> = entries.iter().map(|e| e.node.parents.len()).collect();
    let first = indices(entries.len()).filter(|ix| waiting_for[ix.index()] == 0);
    let mut order: Vec<NodeIx> = first.collect();
    let mut done = 0;
    while let Some(&ix) = order.get(done) {
        done += 1;
        for &child in &children[ix.index()] {
            waiting_for[child.index()] -= 1;
            if waiting_for[child.index()] == 0 {
                order.push(child);
            }
        }
    }
    match cycle(entries, &waiting_for) {
        None => Ok(order),
        Some(cycle) => {
            let cycle = cycle.iter().map(|ix| &entries[ix.index()]);
            let line = cycle.clone().map(|entry| entry.line).min();
            let ids: Vec<&str> = cycle.map(|entry| entry.node.id.as_str()).collect();
            let line = line.unwrap_or(0);
            fail(line, format!("a cycle of hypernyms: {}", ids.join(" -> ")))
        }
    }
}

/// Returns a cycle among the nodes that still wait for a parent: the first one found going up from
/// the first such node, with its first node repeated at the end.
fn cycle(entries: &[Entry], waiting_for: &[usize]) -> Option<Vec<NodeIx>> {
    let is_waiting = |ix: &NodeIx| waiting_for[ix.index()] > 0;
    let mut at = indices(entries.len()).find(is_waiting)?;
    let mut path = Vec::new();
    let mut places = HashMap::new();
    loop {
        if let Some(start) = places.insert(at, path.len()) {
            path.push(at);
            return Some(path.split_off(start));
        }
        path.push(at);
        let parents = entries[at.index()].node.parents.iter();
        at = parents.copied().find(is_waiting)?;
    }
}

/// Returns all nodes above each node; `order` has each node after its parents, `lines` are those of
/// the nodes in their file.
///
/// # Errors
/// If a node has more than [`MAX_ABOVE`] nodes above it, or all have more than [`MAX_PAIRS`].
pub(super) fn ancestors(
    nodes: &[Node],
    lines: &[usize],
    order: &[NodeIx],
) -> Result<Vec<Vec<NodeIx>>> {
    let mut pairs = 0;
    let mut ancestors: Vec<Vec<NodeIx>> = vec![Vec::new(); nodes.len()];
    for &ix in order {
        let mut above = BTreeSet::new();
        for &parent in &nodes[ix.index()].parents {
            above.insert(parent);
            above.extend(&ancestors[parent.index()]);
        }
        pairs += above.len();
        if above.len() > MAX_ABOVE || pairs > MAX_PAIRS {
            return fail(
                lines[ix.index()],
                format!(
                    "expected at most {MAX_ABOVE} nodes above a node and {MAX_PAIRS} such pairs in \
                     total, found {} above `{}` and {pairs} so far; remove nodes that no label needs",
                    above.len(),
                    nodes[ix.index()].id
                ),
            );
        }
        ancestors[ix.index()] = above.into_iter().collect();
    }
    Ok(ancestors)
}

/// Returns the labelled nodes, and those at or below each node, both in the order of the file.
pub(super) fn labels(nodes: &[Node], ancestors: &[Vec<NodeIx>]) -> (Vec<NodeIx>, Vec<Vec<NodeIx>>) {
    let labelled = indices(nodes.len()).filter(|ix| nodes[ix.index()].labelled);
    let labelled: Vec<NodeIx> = labelled.collect();
    let mut below = vec![Vec::new(); nodes.len()];
    for &leaf in &labelled {
        below[leaf.index()].push(leaf);
        for above in &ancestors[leaf.index()] {
            below[above.index()].push(leaf);
        }
    }
    (labelled, below)
}

/// Returns the number of edges of the shortest path from the root to each node.
pub(super) fn depths(root: NodeIx, children: &[Vec<NodeIx>]) -> Vec<u32> {
    let mut depths = vec![u32::MAX; children.len()];
    depths[root.index()] = 0;
    let mut queue = VecDeque::from([root]);
    while let Some(ix) = queue.pop_front() {
        for &child in &children[ix.index()] {
            if depths[child.index()] == u32::MAX {
                depths[child.index()] = depths[ix.index()] + 1;
                queue.push_back(child);
            }
        }
    }
    depths
}

#[cfg(test)]
mod tests {
    use super::super::Taxonomy;
    use super::*;

    fn read(rows: &str) -> Result<Taxonomy> {
        Taxonomy::from_tsv(&format!("synset\tnames\thypernyms\tlabelled\n{rows}"))
    }

    fn message(rows: &str) -> String {
        read(rows).unwrap_err().to_string()
    }

    #[test]
    fn at_most_two_thousand_nodes_lie_above_a_node() {
        let chain = |length: usize| {
            let rows = (1..length).map(|i| format!("n{i}\tx\tn{}\t1\n", i - 1));
            format!("n0\tx\t\t0\n{}", rows.collect::<String>())
        };
        let longest = read(&chain(MAX_ABOVE + 1)).unwrap();
        assert_eq!(longest.labelled().len(), MAX_ABOVE);
        for length in [MAX_ABOVE + 2, 20_000] {
            // Line 1 is the header, and n2001 is the first node with 2,001 nodes above it.
            let found = message(&chain(length));
            assert!(found.starts_with("taxonomy, line 2003: "), "{found}");
            assert!(found.contains("found 2001 above `n2001`"), "{found}");
        }
    }

    #[test]
    fn there_is_one_root() {
        assert_eq!(
            message("e\tx\t\t0\na\ty\te\t0\nb\tz\t\t0"),
            "taxonomy, line 4: `b` has no hypernym, but the root is `e` of line 2; there must be one"
        );
        assert_eq!(
            message("a\tx\tb\t0\nb\ty\ta\t0"),
            "taxonomy: there is no root: every node has a hypernym"
        );
    }

    #[test]
    fn cycles_are_shown() {
        assert_eq!(
            message("e\tx\t\t0\na\tx\te|c\t0\nb\tx\ta\t0\nc\tx\tb\t0\nd\tx\tc\t1"),
            "taxonomy, line 3: a cycle of hypernyms: a -> c -> b -> a"
        );
        assert_eq!(
            message("e\tx\t\t0\na\tx\ta|e\t0"),
            "taxonomy, line 3: a cycle of hypernyms: a -> a"
        );
    }
}
