//! The concepts of a model: class `espalier.Taxonomy`.

use std::sync::Arc;

use espalier_core::taxonomy::{self, NodeIx};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyList;

/// A concept.
#[pyclass(frozen, get_all, module = "espalier")]
pub struct Node {
    /// Identifier, such as `n02121620`.
    id: String,
    /// The first name.
    name: String,
    /// All names, the most usual one first.
    names: Vec<String>,
    /// Ids of the nodes directly above.
    parents: Vec<String>,
    /// Ids of the nodes directly below.
    children: Vec<String>,
    /// Whether photos are scored against it.
    labelled: bool,
    /// Edges of the shortest path from the root.
    depth: u32,
    /// How well its branch is supported, as the file of a phylogeny states it; none in other files.
    support: Option<String>,
}

#[pymethods]
impl Node {
    fn __repr__(&self) -> String {
        format!("Node('{}', '{}')", self.id, self.name)
    }
}

/// Concepts below one root; nodes are named by their ids.
#[pyclass(frozen, module = "espalier")]
pub struct Taxonomy {
    inner: Arc<taxonomy::Taxonomy>,
}

impl Taxonomy {
    pub fn new(inner: Arc<taxonomy::Taxonomy>) -> Self {
        Self { inner }
    }

    fn index(&self, id: &str) -> PyResult<NodeIx> {
        self.inner
            .find(id)
            .ok_or_else(|| PyKeyError::new_err(id.to_owned()))
    }

    fn ids(&self, nodes: &[NodeIx]) -> Vec<String> {
        let ids = nodes.iter().map(|ix| self.inner.node(*ix).id.clone());
        ids.collect()
    }

    fn node(&self, ix: NodeIx) -> Node {
        let node = self.inner.node(ix);
        Node {
            id: node.id.clone(),
            name: self.inner.name(ix).to_owned(),
            names: node.names.clone(),
            parents: self.ids(&node.parents),
            children: self.ids(self.inner.children(ix)),
            labelled: node.labelled,
            depth: self.inner.depth(ix),
            support: node.support.clone(),
        }
    }
}

#[pymethods]
impl Taxonomy {
    /// Id of the root.
    #[getter]
    fn root(&self) -> String {
        self.inner.node(self.inner.root()).id.clone()
    }

    /// Ids of the labels, in the order of the file.
    #[getter]
    fn labels(&self) -> Vec<String> {
        self.ids(self.inner.labelled())
    }

    /// Id of the node that a phrase names; none if there is no such node.
    fn named(&self, phrase: &str) -> Option<String> {
        let found = self.inner.named(phrase);
        found.map(|ix| self.inner.node(ix).id.clone())
    }

    /// Nodes from the root to a node.
    fn path(&self, id: &str) -> PyResult<Vec<Node>> {
        let path = self.inner.path_to(self.index(id)?);
        Ok(path.into_iter().map(|ix| self.node(ix)).collect())
    }

    /// Id of the lowest node at or above both.
    fn common(&self, a: &str, b: &str) -> PyResult<String> {
        let common = self.inner.common(self.index(a)?, self.index(b)?);
        Ok(self.inner.node(common).id.clone())
    }

    /// Whether `a` is above `b`.
    fn is_ancestor(&self, a: &str, b: &str) -> PyResult<bool> {
        Ok(self.inner.is_ancestor(self.index(a)?, self.index(b)?))
    }

    fn __getitem__(&self, id: &str) -> PyResult<Node> {
        Ok(self.node(self.index(id)?))
    }

    fn __contains__(&self, id: &str) -> bool {
        self.inner.find(id).is_some()
    }

    fn __len__(&self) -> usize {
        self.inner.nodes().len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let ids = self.inner.nodes().iter().map(|node| node.id.as_str());
        let ids = PyList::new(py, ids.collect::<Vec<_>>())?;
        Ok(ids.try_iter()?.into_any())
    }

    fn __repr__(&self) -> String {
        let (nodes, labels) = (self.inner.nodes().len(), self.inner.labelled().len());
        format!("Taxonomy({nodes} nodes, {labels} labels)")
    }
}
