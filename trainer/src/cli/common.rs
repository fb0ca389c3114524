//! Arguments shared by all commands that run a model.

use clap::Args;

use crate::device::Backend;

/// Arguments shared by all commands that run a model.
#[derive(Args, Clone, Debug)]
pub struct Common {
    /// Device to compute on.
    #[arg(long, value_enum, default_value = "auto")]
    pub backend: Backend,
    /// Never use the network. Only `import` ever uses it; other commands accept the flag so that
    /// scripts can always pass it.
    #[arg(long)]
    pub offline: bool,
    /// Print the result as JSON on standard output.
    #[arg(long)]
    pub json: bool,
}
