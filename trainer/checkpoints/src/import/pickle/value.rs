//! Values of a pickle. They are stored in an arena and refer to each other by index. A value that
//! contains itself, or a million nested lists, therefore needs no recursion, and memory only in
//! proportion to the number of values.

use super::tensor::{Storage, TensorView};

/// Index of a value in the [`Arena`].
pub type Ref = usize;

/// A function or type that a tensor file may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// `collections.OrderedDict`.
    OrderedDict,
    /// `torch._utils._rebuild_tensor_v2`.
    RebuildTensor,
    /// `torch._utils._rebuild_parameter`.
    RebuildParameter,
    /// `torch.Size`.
    Size,
    /// A storage type, such as `torch.FloatStorage`.
    StorageType(espalier_io::disk::dtype::Number),
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// `None`.
    None,
    /// A boolean.
    Bool(bool),
    /// An integer that fits; larger ones are kept as [`Node::Opaque`].
    Int(i64),
    /// A float.
    Float(f64),
    /// A string.
    Text(String),
    /// A tuple.
    Tuple(Vec<Ref>),
    /// A list or a set.
    List(Vec<Ref>),
    /// A dictionary, in the order of insertion.
    Dict(Vec<(Ref, Ref)>),
    /// A known function or type.
    Known(Known),
    /// A storage of numbers.
    Storage(Storage),
    /// A tensor.
    Tensor(TensorView),
    /// A value not needed for tensors: bytes, long integers.
    Opaque,
}

/// All values of one pickle.
#[derive(Clone, Debug, Default)]
pub struct Arena {
    nodes: Vec<Node>,
}

impl Arena {
    /// Stores a value and returns its index.
    pub fn push(&mut self, node: Node) -> Ref {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// Returns a value; every [`Ref`] that an arena returned is valid in it.
    pub fn get(&self, at: Ref) -> &Node {
        &self.nodes[at]
    }

    /// Returns a value to be changed.
    pub fn get_mut(&mut self, at: Ref) -> &mut Node {
        &mut self.nodes[at]
    }

    /// Returns every storage.
    pub fn storages(&self) -> impl Iterator<Item = &Storage> {
        self.nodes.iter().filter_map(|node| match node {
            Node::Storage(storage) => Some(storage),
            _ => None,
        })
    }

    /// Returns the text of a string; `None` for other values.
    pub fn text(&self, at: Ref) -> Option<&str> {
        match self.get(at) {
            Node::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns a non-negative integer; `None` for other values.
    pub fn size(&self, at: Ref) -> Option<usize> {
        match self.get(at) {
            Node::Int(n) => usize::try_from(*n).ok(),
            _ => None,
        }
    }

    /// Returns the elements of a tuple or list; `None` for other values.
    pub fn parts(&self, at: Ref) -> Option<&[Ref]> {
        match self.get(at) {
            Node::Tuple(parts) | Node::List(parts) => Some(parts),
            _ => None,
        }
    }

    /// Returns the entries of a dictionary; `None` for other values.
    pub fn entries(&self, at: Ref) -> Option<&[(Ref, Ref)]> {
        match self.get(at) {
            Node::Dict(entries) => Some(entries),
            _ => None,
        }
    }

    /// Returns the value of a key in a dictionary; the last one if the key occurs twice.
    pub fn lookup(&self, dict: Ref, key: &str) -> Option<Ref> {
        let entries = self.entries(dict)?;
        let found = entries
            .iter()
            .rev()
            .find(|(k, _)| self.text(*k) == Some(key));
        found.map(|(_, value)| *value)
    }
}
