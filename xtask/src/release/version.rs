//! The version of what a release publishes.

/// The version of the whole workspace, this package included.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
