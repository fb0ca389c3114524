//! Errors with their own exit code; [`crate::exit_code`] lists all codes.

use std::fmt;

/// Bad usage, configuration or data: exit code 2.
#[derive(Debug)]
pub struct Usage(pub String);

/// The quality gate refused a result: exit code 3.
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

/// Returns a [`Usage`] error with this message.
pub fn usage(message: impl Into<String>) -> anyhow::Error {
    Usage(message.into()).into()
}
