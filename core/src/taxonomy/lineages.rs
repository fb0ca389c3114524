//! Conversion of lineages to one tree; all formats of a visitor's own tree are read as lineages.

use std::collections::HashMap;

use super::node::NodeIx;
use super::parse::{Entry, fail, id_of, names_of};
use crate::error::Result;

/// Name of the root that is added if the lineages do not share their first name.
pub const ROOT: &str = "everything";

/// Most bytes that the names of all lineages take, and most bytes that the ids of all nodes take.
/// Every lineage repeats the names above it, so a small file of a deep tree could need any amount of
/// memory.
const MAX_BYTES: usize = 128 << 20;

/// Names from the most general one down, and their line.
struct Lineage {
    line: usize,
    names: Vec<String>,
}

/// Lineages in the order of their file.
#[derive(Default)]
pub(super) struct Lineages {
    lineages: Vec<Lineage>,
    bytes: usize,
}

impl Lineages {
    /// Adds a lineage; blanks within a name become single ones.
    ///
    /// # Errors
    /// [`crate::CoreError::Taxonomy`] for an empty name, or if the lineages become too long.
    pub(super) fn push<'a>(
        &mut self,
        line: usize,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<()> {
        let names = names.into_iter().map(|name| {
            let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
            self.bytes += name.len() + size_of::<String>();
            check_bytes(line, self.bytes)?;
            match names_of(&name).is_empty() {
                true => fail(line, "a name is empty"),
                false => Ok(name),
            }
        });
        let names = names.collect::<Result<Vec<String>>>()?;
        if names.is_empty() {
            return fail(line, "a name is empty");
        }
        self.lineages.push(Lineage { line, names });
        Ok(())
    }
}

fn check_bytes(line: usize, bytes: usize) -> Result<()> {
    if bytes <= MAX_BYTES {
        return Ok(());
    }
    fail(
        line,
        format!(
            "expected a tree whose paths take at most {} MiB, found more; shorten the names or leave \
             out levels",
            MAX_BYTES >> 20
        ),
    )
}

/// Converts lineages to nodes, the root first. A node is a lineage up to its name, so a name that
/// is used in two branches gives two nodes; its id is that lineage joined by `/`. Nodes without
/// children are labelled. Synonyms of a name are separated by `|`.
pub(super) fn read(lineages: Lineages) -> Result<Vec<Entry>> {
    let lineages = lineages.lineages;
    let Some(first) = lineages.first() else {
        return fail(0, "expected at least one name, found none");
    };
    let is_shared = lineages.iter().all(|l| l.names[0] == first.names[0]);
    let mut tree = Tree::default();
    for Lineage { line, names } in &lineages {
        let mut above = None;
        if !is_shared {
            above = Some(tree.add(ROOT, None, *line)?);
        }
        for name in names {
            above = Some(tree.add(name, above, *line)?);
        }
    }
    Ok(tree.entries)
}

/// The nodes read so far.
#[derive(Default)]
pub(super) struct Tree<'a> {
    pub(super) entries: Vec<Entry>,
    places: HashMap<(Option<NodeIx>, &'a str), NodeIx>,
    /// The node of each id.
    ids: HashMap<String, NodeIx>,
    /// How many nodes wanted the id of each node.
    wanted: Vec<u32>,
    bytes: usize,
}

impl<'a> Tree<'a> {
    /// Returns the node with this name below its parent; adds it if there is none.
    fn add(&mut self, name: &'a str, parent: Option<NodeIx>, line: usize) -> Result<NodeIx> {
        if let Some(known) = self.places.get(&(parent, name)) {
            return Ok(*known);
        }
        let id = self.id(name, parent);
        if self.ids.contains_key(&id) {
            return fail(
                line,
                format!("two names have the path `{id}`; write one of them without `/` or `|`"),
            );
        }
        let ix = self.insert(id, name, parent, line)?;
        self.places.insert((parent, name), ix);
        Ok(ix)
    }

    /// Adds a node, whatever the others are called; returns its place.
    pub(super) fn add_another(
        &mut self,
        name: &str,
        parent: Option<NodeIx>,
        line: usize,
    ) -> Result<NodeIx> {
        let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
        if names_of(&name).is_empty() {
            return fail(line, "a name is empty");
        }
        let first = self.id(&name, parent);
        let mut id = first.clone();
        if let Some(other) = self.ids.get(&first).map(|ix| ix.index()) {
            while self.ids.contains_key(&id) {
                self.wanted[other] += 1;
                id = format!("{first} ({})", self.wanted[other]);
            }
        }
        self.insert(id, &name, parent, line)
    }

    /// Returns the id of a node that no other one has the path of.
    fn id(&self, name: &str, parent: Option<NodeIx>) -> String {
        let above = parent.map(|ix| self.entries[ix.index()].node.id.as_str());
        id_of(above, name)
    }

    fn insert(
        &mut self,
        id: String,
        name: &str,
        parent: Option<NodeIx>,
        line: usize,
    ) -> Result<NodeIx> {
        self.bytes += id.len();
        check_bytes(line, self.bytes)?;
        let ix = NodeIx(u32::try_from(self.entries.len()).unwrap_or(u32::MAX));
        self.ids.insert(id.clone(), ix);
        self.wanted.push(1);
        let parents = parent.into_iter().collect();
        let entry = Entry::new(line, id, names_of(name), parents, true);
        self.entries.push(entry);
        if let Some(parent) = parent {
            self.entries[parent.index()].node.labelled = false;
        }
        Ok(ix)
    }
}

#[cfg(test)]
mod tests {
    use crate::taxonomy::Taxonomy;

    /// Reads a tree, which must be the same after it was written.
    fn tree(text: &str) -> Taxonomy {
        let tree = Taxonomy::from_text(text).unwrap();
        let again = Taxonomy::from_tsv(&tree.to_tsv()).unwrap();
        assert_eq!(again.nodes(), tree.nodes());
        tree
    }

    fn message(text: &str) -> String {
        Taxonomy::from_text(text).unwrap_err().to_string()
    }

    #[test]
    fn a_node_with_synonyms_can_be_a_parent_in_the_written_tree() {
        let tree = tree("animal | beast\n  dog\n");
        assert_eq!(tree.node(tree.root()).names, ["animal", "beast"]);
        assert_eq!(tree.node(tree.labelled()[0]).id, "animal \u{a6} beast/dog");
    }

    #[test]
    fn tabs_and_line_breaks_in_quoted_names_become_blanks() {
        let tree = tree("('a\n\twren','song\tthrush')bird;");
        let names: Vec<&str> = tree.labelled().iter().map(|ix| tree.name(*ix)).collect();
        assert_eq!(names, ["a wren", "song thrush"]);
    }

    #[test]
    fn names_that_give_two_nodes_the_same_id_are_an_error() {
        let message = message("x;a/b;c\nx;a;b/c\n");
        assert!(
            message.contains("line 2: two names have the path `x/a/b/c`"),
            "{message}"
        );
    }

    #[test]
    fn a_small_file_cannot_take_any_amount_of_memory() {
        let long = "n".repeat(100_000);
        let many = (0..10_000).map(|i| format!(" {i}\n"));
        let indented: String = std::iter::once(format!("{long}\n")).chain(many).collect();
        let newick = format!("({})'{long}';", vec!["a"; 10_000].join(","));
        let row = vec!["a"; 100_000].join(",");
        for text in [indented, newick, row] {
            let message = message(&text);
            assert!(message.contains("paths take at most 128 MiB"), "{message}");
        }
    }
}
