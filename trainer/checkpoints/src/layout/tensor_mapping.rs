//! Mapping between one of our tensors and the tensors of a published file.

/// How the tensors of a file are combined into one of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transform {
    /// Concatenated along the first dimension; a single tensor is used unchanged.
    Stacked,
    /// One matrix, transposed.
    Transposed,
}

/// One of our tensors and the tensors of a published file that hold its numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorMapping {
    /// Our name.
    pub ours: String,
    /// Our shape.
    pub shape: Vec<usize>,
    /// Names in the file.
    pub theirs: Vec<String>,
    /// Shape of each of them.
    pub their_shape: Vec<usize>,
    /// Conversion between them.
    pub how: Transform,
}

impl TensorMapping {
    /// Returns the mapping of a tensor that the file stores as we do, under a name of its own.
    pub(super) fn renamed(
        ours: impl Into<String>,
        theirs: impl Into<String>,
        shape: Vec<usize>,
    ) -> Self {
        Self {
            ours: ours.into(),
            their_shape: shape.clone(),
            shape,
            theirs: vec![theirs.into()],
            how: Transform::Stacked,
        }
    }
}
