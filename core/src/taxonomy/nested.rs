//! Trees whose format nests nodes. Every node of the text is a node of the taxonomy, also where two have the
//! same name and the same parent.

use super::lineages::Tree;
use super::node::NodeIx;
use super::parse::{Entry, fail};
use super::taxa;
use crate::error::Result;

/// A node with its children, as its format has them.
pub(super) struct Branch {
    /// Name without its quotes; empty if it has none.
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) children: Vec<Branch>,
}

impl Branch {
    fn first(&self) -> &str {
        self.children.first().map_or(&self.name, Self::first)
    }

    fn last(&self) -> &str {
        self.children.last().map_or(&self.name, Self::last)
    }

    fn has_leaf(&self, test: &impl Fn(&str) -> bool) -> bool {
        match self.children.as_slice() {
            [] => test(&self.name),
            children => children.iter().any(|child| child.has_leaf(test)),
        }
    }

    /// Converts the tree to nodes, the root first. An inner node without a name is called after its first and
    /// its last leaf. Where leaves have names in words, a number at an inner node is the support of its
    /// branch, [`Node::support`](super::Node::support), not a name.
    pub(super) fn entries(&self) -> Result<Vec<Entry>> {
        let has_support = self.has_leaf(&|name| !taxa::is_support(name));
        let mut tree = Tree::default();
        self.add(None, has_support, &mut tree)?;
        Ok(tree.entries)
    }

    fn add(&self, parent: Option<NodeIx>, has_support: bool, tree: &mut Tree<'_>) -> Result<()> {
        let is_inner = !self.children.is_empty();
        let (support, name) = match is_inner && has_support {
            true => taxa::split_support(&self.name),
            false => (None, self.name.as_str()),
        };
        let name = taxa::without_ranks(name);
        let name = match name.is_empty() {
            true if is_inner => format!("{} … {}", self.first(), self.last()),
            true => return fail(self.line, "a name is empty"),
            false => name,
        };
        let ix = tree.add_another(&name, parent, self.line)?;
        tree.entries[ix.index()].node.support = support.map(str::to_owned);
        self.children
            .iter()
            .try_for_each(|child| child.add(Some(ix), has_support, tree))
    }
}
