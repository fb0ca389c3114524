//! The concepts of a file with their precomputed relations.

use std::collections::HashMap;

use super::node::{Node, NodeIx};
use super::parse::{self, Entry, fail};
use super::{graph, lineages, ranks};
use crate::error::Result;
use crate::shown;

/// Concepts below one root, with all relations precomputed.
///
/// Nodes have the order of the file. Values per node are slices in that order, indexed by
/// [`NodeIx::index`]. For a [`NodeIx`] of another taxonomy the methods return no relations; only
/// [`Taxonomy::node`] and [`Taxonomy::name`] require that the index exists.
#[derive(Clone, Debug)]
pub struct Taxonomy {
    nodes: Vec<Node>,
    root: NodeIx,
    by_id: HashMap<String, NodeIx>,
    children: Vec<Vec<NodeIx>>,
    depths: Vec<u32>,
    ancestors: Vec<Vec<NodeIx>>,
    labelled: Vec<NodeIx>,
    labelled_below: Vec<Vec<NodeIx>>,
    note: Option<String>,
}

impl Taxonomy {
    /// Builds the taxonomy from parsed entries of any format.
    pub(super) fn from_entries(entries: Vec<Entry>) -> Result<Self> {
        check_names(&entries)?;
        let root = graph::root(&entries)?;
        let children = graph::children(&entries);
        let order = graph::parents_first(&entries, &children)?;
        let lines: Vec<usize> = entries.iter().map(|e| e.line).collect();
        let nodes: Vec<Node> = entries.into_iter().map(|e| e.node).collect();

        let ancestors = graph::ancestors(&nodes, &lines, &order)?;
        let (labelled, labelled_below) = graph::labels(&nodes, &ancestors);
        Ok(Self {
            depths: graph::depths(root, &children),
            by_id: graph::indices(nodes.len())
                .map(|ix| (nodes[ix.index()].id.clone(), ix))
                .collect(),
            nodes,
            root,
            children,
            ancestors,
            labelled,
            labelled_below,
            note: None,
        })
    }

    /// Returns the taxonomy with a remark about how its text was read.
    pub(super) fn with_note(mut self, note: Option<String>) -> Self {
        self.note = note;
        self
    }

    /// Returns what a reader of the text should know, such as that only the first of several trees was read.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Returns the taxonomy with fewer labels: only those that `keep` accepts.
    #[must_use]
    pub fn with_labels(mut self, keep: impl Fn(NodeIx) -> bool) -> Self {
        for (i, node) in self.nodes.iter_mut().enumerate() {
            node.labelled &= keep(NodeIx(i as u32));
        }
        (self.labelled, self.labelled_below) = graph::labels(&self.nodes, &self.ancestors);
        self
    }

    /// Writes the taxonomy in the first format that [`Taxonomy::from_tsv`] reads.
    pub fn to_tsv(&self) -> String {
        parse::write(&self.nodes)
    }

    /// Returns all nodes, in the order of the file.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns a node.
    ///
    /// # Panics
    /// For an index that this taxonomy does not have.
    pub fn node(&self, ix: NodeIx) -> &Node {
        &self.nodes[ix.index()]
    }

    /// Returns the first name of a node.
    ///
    /// # Panics
    /// For an index that this taxonomy does not have.
    pub fn name(&self, ix: NodeIx) -> &str {
        &self.nodes[ix.index()].names[0]
    }

    /// Returns the node with an id.
    pub fn find(&self, id: &str) -> Option<NodeIx> {
        self.by_id.get(id).copied()
    }

    /// Returns the only node without parents.
    pub fn root(&self) -> NodeIx {
        self.root
    }

    /// Returns whether the root was added by the reader: ranks and lineages that share no first
    /// name have none of their own.
    pub fn root_is_added(&self) -> bool {
        [ranks::ROOT, lineages::ROOT].contains(&self.node(self.root).id.as_str())
    }

    /// Returns the nodes that have this one as a parent, in the order of the file.
    pub fn children(&self, ix: NodeIx) -> &[NodeIx] {
        of(&self.children, ix)
    }

    /// Returns the number of edges of the shortest path from the root; 0 for the root.
    pub fn depth(&self, ix: NodeIx) -> u32 {
        self.depths.get(ix.index()).copied().unwrap_or(0)
    }

    /// Returns the lowest node at or above both, along first parents of `a`; the root if there is
    /// none closer.
    pub fn common(&self, a: NodeIx, b: NodeIx) -> NodeIx {
        let mut up = self.path_to(a).into_iter().rev();
        let lowest = up.find(|ix| self.is_at_or_above(*ix, b));
        lowest.unwrap_or(self.root)
    }

    /// Returns all nodes above this one along all parents, including the root but not the node
    /// itself; sorted.
    pub fn ancestors(&self, ix: NodeIx) -> &[NodeIx] {
        of(&self.ancestors, ix)
    }

    /// Returns whether `a` is an ancestor of `b`. No node is its own ancestor.
    pub fn is_ancestor(&self, a: NodeIx, b: NodeIx) -> bool {
        self.ancestors(b).binary_search(&a).is_ok()
    }

    /// Returns whether `a` is `b` or one of its ancestors.
    pub fn is_at_or_above(&self, a: NodeIx, b: NodeIx) -> bool {
        a == b || self.is_ancestor(a, b)
    }

    /// Returns the labelled nodes, in the order of the file.
    pub fn labelled(&self) -> &[NodeIx] {
        &self.labelled
    }

    /// Returns the labelled nodes at or below this one, each once, in the order of the file.
    pub fn labelled_below(&self, ix: NodeIx) -> &[NodeIx] {
        of(&self.labelled_below, ix)
    }

    /// Returns the path from the root to a node along first parents, including both.
    pub fn path_to(&self, ix: NodeIx) -> Vec<NodeIx> {
        let above = |at: &NodeIx| self.nodes.get(at.index())?.parents.first().copied();
        let mut path: Vec<NodeIx> = std::iter::successors(Some(ix), above).collect();
        path.reverse();
        path
    }
}

/// Checks what is shown of the nodes: ids and names.
fn check_names(entries: &[Entry]) -> Result<()> {
    for entry in entries {
        for text in std::iter::once(&entry.node.id).chain(&entry.node.names) {
            shown::check(text).or_else(|reason| fail(entry.line, reason))?;
        }
    }
    Ok(())
}

fn of(lists: &[Vec<NodeIx>], ix: NodeIx) -> &[NodeIx] {
    lists.get(ix.index()).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_would_be_shown_otherwise_than_written_is_an_error() {
        let named = |id: &str, name: &str| {
            let tsv =
                format!("synset\tnames\thypernyms\tlabelled\nr\tthing\t\t0\n{id}\t{name}\tr\t1\n");
            Taxonomy::from_tsv(&tsv)
        };
        assert!(named("c", "cat|кот").is_ok());
        for (id, name) in [
            ("c", "cat\u{202e}"),
            ("c", "cat|\u{7}"),
            ("c\u{202e}", "cat"),
        ] {
            let error = named(id, name).unwrap_err().to_string();
            assert!(error.contains("line 3"), "{error}");
        }
    }

    #[test]
    fn fewer_labels_leave_the_tree_as_it_is() {
        let tax = Taxonomy::from_tsv(TSV).unwrap();
        let (nodes, labels) = (tax.nodes().len(), tax.labelled().len());
        let removed = tax.labelled()[0];
        let fewer = tax.with_labels(|ix| ix != removed);
        let found = (fewer.nodes().len(), fewer.labelled().len());
        assert_eq!(found, (nodes, labels - 1));
        assert!(!fewer.labelled_below(fewer.root()).contains(&removed));
        assert!(!fewer.node(removed).labelled);
    }

    /// A tabby is a cat and a pet; the lines are in no order.
    const TSV: &str = "synset\tnames\thypernyms\tlabelled\n\
        c\tcat|true cat\tf\t1\n\
        e\tentity\t\t0\n\
        f\tfeline\ta\t0\n\
        a\tanimal\te\t0\n\
        t\ttabby\tc|p\t1\n\
        p\tpet\te\t0\n\
        d\tdog\ta|p\t1\n";

    fn tax() -> Taxonomy {
        Taxonomy::from_tsv(TSV).unwrap()
    }

    fn ids<'a>(tax: &'a Taxonomy, list: &[NodeIx]) -> Vec<&'a str> {
        list.iter().map(|&ix| tax.node(ix).id.as_str()).collect()
    }

    fn message(rows: &str) -> String {
        let text = format!("synset\tnames\thypernyms\tlabelled\n{rows}");
        Taxonomy::from_tsv(&text).unwrap_err().to_string()
    }

    #[test]
    fn relations_follow_every_parent() {
        let tax = tax();
        let at = |id| tax.find(id).unwrap();
        assert_eq!(ids(&tax, &[tax.root()]), ["e"]);
        assert_eq!(ids(&tax, tax.ancestors(at("t"))), ["c", "e", "f", "a", "p"]);
        assert_eq!(ids(&tax, tax.children(at("p"))), ["t", "d"]);
        assert_eq!(ids(&tax, tax.labelled()), ["c", "t", "d"]);
        assert_eq!(ids(&tax, tax.labelled_below(at("e"))), ["c", "t", "d"]);
        assert_eq!(ids(&tax, tax.labelled_below(at("c"))), ["c", "t"]);
        assert_eq!(ids(&tax, tax.labelled_below(at("p"))), ["t", "d"]);
        // Four steps through the cat, two through the pet.
        let depths = ["e", "a", "f", "c", "t"].map(|id| tax.depth(at(id)));
        assert_eq!(depths, [0, 1, 2, 3, 2]);
        assert_eq!(ids(&tax, &tax.path_to(at("t"))), ["e", "a", "f", "c", "t"]);
        assert_eq!(tax.common(at("t"), at("d")), at("a"));
        assert_eq!(tax.common(at("d"), at("p")), tax.root());
        assert_eq!(tax.common(at("f"), at("t")), at("f"));
        assert!(tax.is_ancestor(at("a"), at("t")) && !tax.is_ancestor(at("t"), at("a")));
        assert!(!tax.is_ancestor(at("a"), at("a")) && !tax.is_ancestor(at("f"), at("p")));
        assert_eq!(tax.name(at("c")), "cat");
        assert_eq!(tax.find("z"), None);
    }

    #[test]
    fn writing_gives_what_was_read() {
        assert_eq!(tax().to_tsv(), TSV);
        let windows = format!("\u{feff}{}", TSV.replace('\n', "\r\n"));
        assert_eq!(Taxonomy::from_tsv(&windows).unwrap().to_tsv(), TSV);
    }

    #[test]
    fn only_a_root_that_no_file_names_was_added() {
        let ranks = Taxonomy::from_tsv("kingdom\tphylum\nAnimalia\tChordata\n").unwrap();
        assert!(ranks.root_is_added() && !tax().root_is_added());
        let added = |text| Taxonomy::from_text(text).unwrap().root_is_added();
        assert!(added("dog\ncat\n") && !added("animal\n  dog\n  cat\n"));
    }

    #[test]
    fn a_place_of_another_taxonomy_has_no_relations() {
        let tax = tax();
        let foreign = NodeIx(99);
        assert!(tax.ancestors(foreign).is_empty() && tax.children(foreign).is_empty());
        assert!(tax.labelled_below(foreign).is_empty() && tax.depth(foreign) == 0);
        assert_eq!(tax.path_to(foreign), [foreign]);
    }

    #[test]
    fn one_node_is_a_taxonomy() {
        let tax = Taxonomy::from_tsv("synset\tnames\thypernyms\tlabelled\ne\tall\t\t1").unwrap();
        assert_eq!(tax.labelled_below(tax.root()), [tax.root()]);
    }

    #[test]
    fn the_header_is_required() {
        for first in ["e\tentity\t\t0", ""] {
            let missing = Taxonomy::from_tsv(first).unwrap_err().to_string();
            let header = "synset<tab>names<tab>hypernyms<tab>labelled";
            let expected = format!("expected the header `{header}`, found `{first}`");
            assert_eq!(missing, format!("taxonomy, line 1: {expected}"));
        }
        let empty = "taxonomy: expected at least one node, found none";
        assert_eq!(message("\n"), empty);
    }

    #[test]
    fn broken_lines_are_named() {
        let cases = [
            ("e\tentity\t0", "line 2: expected 4 columns, found 3"),
            ("\tentity\t\t0", "line 2: the synset is empty"),
            ("e\t\t\t0", "line 2: `e` has an empty name"),
            ("e\tentity|\t\t0", "line 2: `e` has an empty name"),
            (
                "e\tentity\t\tyes",
                "line 2: `labelled` must be 0 or 1, found `yes`",
            ),
            (
                "e\tx\t\t0\na\ty\te|\t0",
                "line 3: `a` has an empty hypernym",
            ),
            (
                "e\tx\t\t0\na\ty\te|e\t0",
                "line 3: `a` has the parent `e` twice",
            ),
            ("e\tx\t\t0\n\ne\ty\t\t0", "line 4: `e` is already on line 2"),
            (
                "e\tx\t\t0\na\ty\tq\t0",
                "line 3: `a` has the parent `q`, which is missing",
            ),
        ];
        for (rows, expected) in cases {
            assert_eq!(message(rows), format!("taxonomy, {expected}"));
        }
    }
}
