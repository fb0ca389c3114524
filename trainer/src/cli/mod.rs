//! Definition of the command line, and nothing else: one file per command.

mod caption;
mod common;
mod data;
mod embed;
mod eval;
mod export;
mod fit;
mod import;
pub mod plot;
mod verify;

use clap::{Parser, Subcommand};

pub use caption::CaptionArgs;
pub use common::{Common, DataCache};
pub use data::{
    AuditArgs, AuditDataset, BenchArgs, BenchDataset, DataCommand, PrepareArgs, PrepareDataset,
};
pub use embed::{EmbedArgs, Feature};
pub use eval::EvalArgs;
pub use export::ExportArgs;
pub use fit::FitArgs;
pub use import::ImportArgs;
pub use plot::PlotCommand;
pub use verify::VerifyArgs;

/// Trains, evaluates and exports models of visual-semantic hierarchies.
#[derive(Debug, Parser)]
#[command(name = "trainer", version, propagate_version = true)]
pub struct Cli {
    /// Command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// A command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Train a model.
    Fit(Box<FitArgs>),
    /// Evaluate a model; one JSON object per task.
    Eval(Box<EvalArgs>),
    /// Caption photos in the same way as the page.
    Caption(CaptionArgs),
    /// Embed images or texts.
    Embed(EmbedArgs),
    /// Convert a published checkpoint to an Espalier checkpoint.
    Import(Box<ImportArgs>),
    /// Write a quantised bundle for the page, or a checkpoint for other programs.
    Export(ExportArgs),
    /// Recompute a result of the page and list the differences.
    Verify(VerifyArgs),
    /// Draw a figure as SVG or PNG.
    #[command(subcommand)]
    Plot(PlotCommand),
    /// Audit, measure or prepare a dataset.
    #[command(subcommand)]
    Data(DataCommand),
}

impl Command {
    /// Returns whether the command may not use the network.
    #[must_use]
    pub fn is_offline(&self) -> bool {
        let common = match self {
            Self::Fit(args) => &args.common,
            Self::Eval(args) => &args.common,
            Self::Caption(args) => &args.common,
            Self::Embed(args) => &args.common,
            Self::Export(args) => &args.common,
            Self::Verify(args) => &args.common,
            Self::Plot(command) => &command.figure().common,
            Self::Import(args) => return args.offline,
            Self::Data(_) => return false,
        };
        common.offline
    }
}
