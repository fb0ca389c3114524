//! The one error type of the crate: what was expected, what was found, where.

use thiserror::Error;

/// Result with [`CoreError`].
pub type Result<T, E = CoreError> = std::result::Result<T, E>;

/// Everything that can be wrong with what the crate is given, grouped by cause.
///
/// Messages say what was expected, what was found and where; callers add the file they read from.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CoreError {
    /// A model or preprocessing configuration that cannot be built.
    #[error("configuration: {field} must be {expected}, found {found}")]
    Config {
        /// Name of the field.
        field: String,
        /// What is allowed.
        expected: String,
        /// What was given.
        found: String,
    },

    /// A tensor with the wrong shape, by path.
    #[error("tensor `{tensor}`: expected shape {expected:?}, found {found:?}")]
    TensorShape {
        /// Path in the file, for example `visual.blocks.0.norm1.weight`.
        tensor: String,
        /// Shape that the model needs.
        expected: Vec<usize>,
        /// Shape in the file.
        found: Vec<usize>,
    },

    /// Tensors that the model needs and the file lacks, or the other way round.
    #[error("weights do not fit the model: missing [{}], unknown [{}]", missing.join(", "), unknown.join(", "))]
    TensorNames {
        /// Needed and not in the file.
        missing: Vec<String>,
        /// In the file and of no use.
        unknown: Vec<String>,
    },

    /// A tensor whose storage cannot be read.
    #[error("tensor `{tensor}`: {reason}")]
    Tensor {
        /// Path in the file.
        tensor: String,
        /// What is wrong.
        reason: String,
    },

    /// A picture that cannot be used.
    #[error("picture: {0}")]
    Image(String),

    /// A vocabulary that cannot be used.
    #[error("vocabulary: {0}")]
    Vocabulary(String),

    /// A taxonomy file with a mistake in it.
    #[error("taxonomy, line {line}: {reason}")]
    Taxonomy {
        /// Line, counted from 1; 0 when the mistake belongs to the file as a whole.
        line: usize,
        /// What is wrong.
        reason: String,
    },

    /// A bundle whose manifest or files are not as they should be.
    #[error("bundle, {file}: {reason}")]
    Bundle {
        /// File of the bundle, relative to its folder.
        file: String,
        /// What is wrong and what to do.
        reason: String,
    },

    /// The device failed to give a result back.
    #[error("device: {0}")]
    Device(String),
}
