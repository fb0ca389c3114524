//! Errors that have an exit code of their own; [`crate::exit_code`] has them all.

use std::fmt;

/// Bad usage, configuration or data: exit code 2.
#[derive(Debug)]
pub struct Usage(pub String);

/// A gate refused a result: exit code 3.
#[derive(Debug)]
pub struct Refused(pub String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}
impl std::error::Error for Refused {}

/// A [`Usage`] error from a message.
pub fn usage(message: impl Into<String>) -> anyhow::Error {
    Usage(message.into()).into()
}
