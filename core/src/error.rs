//! The error type of the crate: what was expected, what was found, and where.

use thiserror::Error;

/// Result with [`CoreError`].
pub type Result<T, E = CoreError> = std::result::Result<T, E>;

/// Errors in the input of the crate, grouped by cause.
///
/// A message says what was expected, what was found and where. Callers add the name of the file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CoreError {
    /// A model or preprocessing configuration that is not valid.
    #[error("configuration: {field} must be {expected}, found {found}")]
    Config {
        /// Name of the field.
        field: String,
        /// Allowed values.
        expected: String,
        /// The value in the configuration.
        found: String,
    },

    /// A tensor with the wrong shape.
    #[error("tensor `{tensor}`: expected shape {expected:?}, found {found:?}")]
    TensorShape {
        /// Name in the file, for example `visual.blocks.0.norm1.weight`.
        tensor: String,
        /// Shape that the model needs.
        expected: Vec<usize>,
        /// Shape in the file.
        found: Vec<usize>,
    },

    /// Tensors that the model needs but the file lacks, or that the file has but the model does not
    /// use.
    #[error("weights do not fit the model: missing [{}], unknown [{}]", missing.join(", "), unknown.join(", "))]
    TensorNames {
        /// Needed by the model, not in the file.
        missing: Vec<String>,
        /// In the file, not used by the model.
        unknown: Vec<String>,
    },

    /// A tensor whose storage cannot be read.
    #[error("tensor `{tensor}`: {reason}")]
    Tensor {
        /// Name in the file.
        tensor: String,
        /// What is wrong.
        reason: String,
    },

    /// An image that cannot be used.
    #[error("image: {0}")]
    Image(String),

    /// A text file in an encoding that is not read.
    #[error("line {line}: expected text in UTF-8, found {found}; save the file as UTF-8")]
    Text {
        /// Line, counted from 1.
        line: usize,
        /// The encoding or the byte.
        found: String,
    },

    /// A part of an image that holds no pixel: left, top, right, bottom as fractions of its sides.
    #[error("region {0:?}: expected a part of the image, found no pixel")]
    Region([f32; 4]),

    /// A vocabulary that cannot be used.
    #[error("vocabulary: {0}")]
    Vocabulary(String),

    /// A taxonomy file with an error.
    #[error("taxonomy{}: {reason}", in_line(*line))]
    Taxonomy {
        /// Line, counted from 1; 0 when the error concerns the file as a whole.
        line: usize,
        /// What is wrong.
        reason: String,
    },

    /// A vocabulary of statements with an error.
    #[error("vocabulary of statements{}: {reason}", in_line(*line))]
    Statements {
        /// Line, counted from 1; 0 when the error concerns the file as a whole.
        line: usize,
        /// What is wrong.
        reason: String,
    },

    /// A bundle whose manifest or files are not valid.
    #[error("bundle, {file}: {reason}")]
    Bundle {
        /// File of the bundle, relative to its folder.
        file: String,
        /// What is wrong and what to do.
        reason: String,
    },

    /// The device did not return a result.
    #[error("device: {0}")]
    Device(String),
}

impl CoreError {
    /// Returns the error of a file of a bundle.
    pub(crate) fn bundle(file: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Bundle {
            file: file.into(),
            reason: reason.into(),
        }
    }
}

/// Returns the place of an error in a file; nothing for line 0, the file as a whole.
fn in_line(line: usize) -> String {
    match line {
        0 => String::new(),
        line => format!(", line {line}"),
    }
}
