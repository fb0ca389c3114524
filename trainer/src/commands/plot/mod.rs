//! `trainer plot`: figures of the papers from any checkpoint.

mod disk;
mod factors;
mod finish;
mod inputs;
mod ladder;
mod norms;
mod pr;
mod run;
mod traversal;
mod umap;

use crate::cli::PlotCommand;

/// Draws a figure.
///
/// # Errors
/// Bad usage or data (exit code 2), or a failure of the device or the disk (1).
pub fn run(command: &PlotCommand) -> anyhow::Result<()> {
    match command {
        PlotCommand::Norms(args) => norms::run(args),
        PlotCommand::Traversal(args) => traversal::run(args),
        PlotCommand::Disk(args) => disk::run(args),
        PlotCommand::Umap(args) => umap::run(args),
        PlotCommand::Factors(args) => factors::run(args),
        PlotCommand::Pr(args) => pr::run(args),
        PlotCommand::Ladder(args) => ladder::run(args),
        PlotCommand::Run(args) => run::run(args),
    }
}
