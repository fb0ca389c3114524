//! Command line of `trainer models`.

use clap::{Args, Subcommand};

/// List the models with short names, and those in the cache.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: trainer models\n\
                  Example: trainer models remove clip-vit-b32\n\
                  A model with a short name can be given wherever a model is named: \
                  trainer eval --checkpoint clip-vit-b32 …")]
pub struct ModelsArgs {
    /// The action; without one, models are listed.
    #[command(subcommand)]
    pub command: Option<ModelsCommand>,
    /// Print the list as JSON on standard output.
    #[arg(long)]
    pub json: bool,
}

/// A command on the cache of models.
#[derive(Clone, Debug, Subcommand)]
pub enum ModelsCommand {
    /// Remove a converted model from the cache. The files in the hub's own cache are not removed.
    Remove {
        /// Its name, as the list shows it.
        #[arg(value_name = "NAME")]
        name: String,
    },
}
