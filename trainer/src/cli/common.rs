//! Arguments shared by all commands that run a model.

use std::path::PathBuf;

use clap::Args;
use espalier_checkpoints::device::Backend;

/// Arguments shared by all commands that run a model.
#[derive(Args, Clone, Debug)]
pub struct Common {
    /// Device to compute on.
    #[arg(long, value_enum, default_value = "auto")]
    pub backend: Backend,
    /// Never use the network. Models of the hub must be in the cache, and data in object storage is
    /// refused.
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
    /// Maximum size of this folder in GiB; 16 by default.
    #[arg(long = "data-cache-gib", value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub gib: Option<u64>,
}
