//! Arguments that all computing commands share.

use clap::Args;

use crate::device::Backend;

/// Arguments that all computing commands share.
#[derive(Args, Clone, Debug)]
pub struct Common {
    /// Device to compute on.
    #[arg(long, value_enum, default_value = "auto")]
    pub backend: Backend,
    /// Never use the network. Only `import` ever does; accepted so that scripts can say it.
    #[arg(long)]
    pub offline: bool,
    /// Print the result as JSON on standard output.
    #[arg(long)]
    pub json: bool,
}
