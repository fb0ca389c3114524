//! Where the numbers of one tensor are in a published file.

/// How tensors of a file become one of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The same numbers in the same order, one file tensor after the other.
    Stacked,
    /// One matrix, rows and columns exchanged.
    Transposed,
}

/// One of our tensors and where its numbers are in a published file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Our name.
    pub ours: String,
    /// Our shape.
    pub shape: Vec<usize>,
    /// Names in the file.
    pub theirs: Vec<String>,
    /// Shape of each of them.
    pub their_shape: Vec<usize>,
    /// What is between.
    pub how: How,
}
