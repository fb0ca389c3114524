//! Failures of storage, as opposed to damaged data.

use std::fmt;
use std::io;

/// A failure of storage: it cannot be reached, refuses, or has changed an object. The data itself
/// may be good, so a record that could not be read for this reason must not be skipped.
#[derive(Clone, Debug)]
pub(super) struct Failure(pub(super) String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

impl Failure {
    /// Wraps the failure, with the kind that decides the exit code.
    pub(super) fn into_io(self, kind: io::ErrorKind) -> io::Error {
        io::Error::new(kind, self)
    }
}

/// Returns whether an error is a failure of storage and no fault of the data.
pub fn is_failure(error: &io::Error) -> bool {
    matches!(error.get_ref(), Some(inner) if inner.is::<Failure>())
}
