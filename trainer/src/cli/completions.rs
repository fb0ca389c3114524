//! Command lines of `trainer completions` and `trainer man`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

/// Print a script with which a shell completes commands and options.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: trainer completions bash > ~/.local/share/bash-completion/completions/trainer\n\
                  Example: trainer completions zsh > ~/.zfunc/_trainer\n\
                  Example: trainer completions fish > ~/.config/fish/completions/trainer.fish"
)]
pub struct CompletionsArgs {
    /// Shell that reads the script.
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Print the manual page, or write those of all commands.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: trainer man | man -l -\n\
                  Example: trainer man --out ~/.local/share/man/man1")]
pub struct ManArgs {
    /// Folder for one page a command; created if it is missing.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}
