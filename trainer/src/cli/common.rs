//! Arguments shared by all commands that run a model.

use std::path::PathBuf;

use clap::Args;

use crate::device::Backend;

/// Arguments shared by all commands that run a model.
#[derive(Args, Clone, Debug)]
pub struct Common {
    /// Device to compute on.
    #[arg(long, value_enum, default_value = "auto")]
    pub backend: Backend,
    /// Never use the network. Only `import` and data in object storage use it; other commands accept
    /// the flag so that scripts can always pass it.
    #[arg(long)]
    pub offline: bool,
    /// Print the result as JSON on standard output.
    #[arg(long)]
    pub json: bool,
}

/// Cache of data from object storage.
#[derive(Args, Clone, Debug, Default)]
pub struct DataCache {
    /// Folder that keeps data from object storage; default: the user's cache folder.
    #[arg(long = "data-cache", value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// Most GiB that it keeps; 16 by default.
    #[arg(long = "data-cache-gib", value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub gib: Option<u64>,
}
