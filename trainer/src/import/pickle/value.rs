//! Values of a pickle. They live in an arena and name one another by number, so that a value that
//! holds itself, or a million lists inside one another, costs no more than their number.

use super::tensor::{Storage, TensorView};

/// A value's place in the [`Arena`].
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
    StorageType(crate::disk::dtype::Number),
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// `None`.
    None,
    /// A truth value.
    Bool(bool),
    /// A whole number that fits; larger ones are kept as [`Node::Opaque`].
    Int(i64),
    /// A float.
    Float(f64),
    /// A text.
    Text(String),
    /// A tuple.
    Tuple(Vec<Ref>),
    /// A list or a set.
    List(Vec<Ref>),
    /// A dictionary, in the order of insertion.
    Dict(Vec<(Ref, Ref)>),
    /// A function or type of the short list.
    Known(Known),
    /// Where the numbers of tensors are.
    Storage(Storage),
    /// A tensor.
    Tensor(TensorView),
    /// Something that no tensor is made of: bytes, long numbers.
    Opaque,
}

/// All values of one pickle.
#[derive(Clone, Debug, Default)]
pub struct Arena {
    nodes: Vec<Node>,
}

impl Arena {
    /// Keep a value.
    pub fn push(&mut self, node: Node) -> Ref {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// A value; every [`Ref`] that an arena gave is valid in it.
    #[must_use]
    pub fn get(&self, at: Ref) -> &Node {
        &self.nodes[at]
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, at: Ref) -> &mut Node {
        &mut self.nodes[at]
    }

    /// Every storage that is named.
    pub fn storages(&self) -> impl Iterator<Item = &Storage> {
        self.nodes.iter().filter_map(|node| match node {
            Node::Storage(storage) => Some(storage),
            _ => None,
        })
    }

    /// The text of a value that is one.
    #[must_use]
    pub fn text(&self, at: Ref) -> Option<&str> {
        match self.get(at) {
            Node::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number of a value that is whole and not negative.
    #[must_use]
    pub fn size(&self, at: Ref) -> Option<usize> {
        match self.get(at) {
            Node::Int(n) => usize::try_from(*n).ok(),
            _ => None,
        }
    }

    /// The parts of a tuple or list.
    #[must_use]
    pub fn parts(&self, at: Ref) -> Option<&[Ref]> {
        match self.get(at) {
            Node::Tuple(parts) | Node::List(parts) => Some(parts),
            _ => None,
        }
    }

    /// The entries of a dictionary.
    #[must_use]
    pub fn entries(&self, at: Ref) -> Option<&[(Ref, Ref)]> {
        match self.get(at) {
            Node::Dict(entries) => Some(entries),
            _ => None,
        }
    }

    /// The value behind a key of a dictionary; the last one where a key comes twice.
    #[must_use]
    pub fn lookup(&self, dict: Ref, key: &str) -> Option<Ref> {
        let entries = self.entries(dict)?;
        let found = entries
            .iter()
            .rev()
            .find(|(k, _)| self.text(*k) == Some(key));
        found.map(|(_, value)| *value)
    }
}
