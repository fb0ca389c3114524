//! The faults.

use clap::ValueEnum;

/// Something that goes wrong while a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Fault {
    /// SIGKILL
    Kill,
    /// SIGTERM
    Term,
    /// SIGTERM, and again a moment later
    TermTwice,
    /// The disk fills up
    FullDisk,
    /// Folders can no longer be written to
    NoPermission,
    /// A file that the command reads is cut short
    Cut,
    /// Less memory than the command needs
    Memory,
}
