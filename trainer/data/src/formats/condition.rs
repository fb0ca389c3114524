//! Conditions at the end of a path, which select rows of its file, or say more of it: `photos.csv?source=NIPS 2017`.

use std::path::{Path, PathBuf};

/// Keeps the rows with a value in a column.
pub struct Condition {
    /// Name before the `=`.
    pub column: String,
    /// Text after the `=`.
    pub value: String,
}

/// Splits a path into the path itself and its condition, if it ends with one.
pub fn split_condition(path: &Path) -> (PathBuf, Option<Condition>) {
    let text = path.to_string_lossy();
    let parts = text.split_once('?').filter(|_| !path.exists());
    let found = parts.and_then(|(file, rest)| {
        let (column, value) = rest.split_once('=')?;
        let condition = Condition {
            column: column.trim().to_owned(),
            value: value.trim().to_owned(),
        };
        Some((PathBuf::from(file), Some(condition)))
    });
    found.unwrap_or_else(|| (path.to_owned(), None))
}
