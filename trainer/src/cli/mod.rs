//! The grammar of the command line, and nothing else: one file a command.

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
pub use common::Common;
pub use data::{AuditArgs, AuditDataset, DataCommand, PrepareArgs, PrepareDataset};
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
    /// Command.
    #[command(subcommand)]
    pub command: Command,
}

/// A command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Train a model.
    Fit(Box<FitArgs>),
    /// Measure a model; one JSON object a task.
    Eval(Box<EvalArgs>),
    /// Caption photos as the page does.
    Caption(CaptionArgs),
    /// Embed pictures or texts.
    Embed(EmbedArgs),
    /// Turn a published checkpoint into one of ours.
    Import(Box<ImportArgs>),
    /// Write a quantised bundle for the page, or a checkpoint for other programs.
    Export(ExportArgs),
    /// Compute a result of the page again, and say where it differs.
    Verify(VerifyArgs),
    /// Draw a figure, SVG or PNG.
    #[command(subcommand)]
    Plot(PlotCommand),
    /// Look at a dataset or prepare it.
    #[command(subcommand)]
    Data(DataCommand),
}
