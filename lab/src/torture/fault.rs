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

impl Fault {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Kill,
        Self::Term,
        Self::TermTwice,
        Self::FullDisk,
        Self::NoPermission,
        Self::Cut,
        Self::Memory,
    ];

    /// Returns the name on the command line.
    #[must_use]
    pub fn name(self) -> String {
        self.to_possible_value()
            .map(|value| value.get_name().to_owned())
            .unwrap_or_default()
    }
}
