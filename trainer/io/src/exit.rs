//! Errors with their own exit code.

use std::fmt;

/// Bad usage, configuration or data: exit code 2.
#[derive(Debug)]
pub struct Usage(pub String);

/// The quality gate refused a result: exit code 3.
#[derive(Debug)]
pub struct Refused(pub String);

/// Exit code after the reader of the output closed its pipe: 128 and the number of SIGPIPE.
pub const CLOSED_PIPE: u8 = 141;

/// The work was stopped from outside before its end, by a signal or a closed pipe. Its exit code is
/// 128 and the number of the signal, as shells report it.
#[derive(Debug)]
pub struct Stopped {
    /// Exit code.
    pub code: u8,
    /// What is printed; nothing if empty.
    pub message: String,
}

impl Stopped {
    /// Creates an error that prints nothing.
    pub fn quietly(code: u8) -> Self {
        Self {
            code,
            message: String::new(),
        }
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

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
impl std::error::Error for Stopped {}

/// Returns a [`Usage`] error with this message.
pub fn usage(message: impl Into<String>) -> anyhow::Error {
    Usage(message.into()).into()
}
