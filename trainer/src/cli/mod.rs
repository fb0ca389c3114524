//! Definition of the command line, and nothing else: one file per command.

mod caption;
mod common;
mod completions;
mod data;
mod embed;
mod eval;
mod export;
mod fit;
mod import;
mod make_page;
mod models;
mod name;
pub mod plot;
mod verify;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

pub use caption::CaptionArgs;
pub use common::{Common, DataCache};
pub use completions::{CompletionsArgs, ManArgs};
pub use data::{
    AuditArgs, AuditDataset, BenchArgs, BenchDataset, DataCommand, PrepareArgs, PrepareDataset,
};
pub use embed::{EmbedArgs, Feature};
pub use eval::EvalArgs;
pub use export::ExportArgs;
pub use fit::FitArgs;
pub use import::ImportArgs;
pub use make_page::MakePageArgs;
pub use models::{ModelsArgs, ModelsCommand};
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
#[derive(Clone, Debug, Subcommand)]
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
    /// Make a page that recognises what is on your photos: from folders of photos to a site.
    MakePage(Box<MakePageArgs>),
    /// List the models with short names, and those in the cache.
    Models(ModelsArgs),
    /// Recompute a result of the page and list the differences.
    Verify(VerifyArgs),
    /// Draw a figure as SVG or PNG.
    #[command(subcommand)]
    Plot(PlotCommand),
    /// Audit, measure or prepare a dataset.
    #[command(subcommand)]
    Data(DataCommand),
    /// Print a script with which a shell completes commands and options.
    Completions(CompletionsArgs),
    /// Print the manual page, or write those of all commands.
    Man(ManArgs),
}

/// Returns the definition of the command line, under the name that this process was called by.
pub fn definition() -> clap::Command {
    definition_for(std::env::args_os().next().as_deref())
}

fn definition_for(program: Option<&OsStr>) -> clap::Command {
    name::renamed(Cli::command(), name::called_as(program))
}

/// Parses arguments, of which the first is the name of the program.
///
/// # Errors
/// A mistake in the arguments, or what was asked for: help or the version.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let mut definition = definition_for(arguments.first().map(OsString::as_os_str));
    let matches = definition.try_get_matches_from_mut(arguments)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut definition))
}

impl Command {
    /// Returns the names of the models that the command opens.
    pub fn models(&mut self) -> Vec<&mut PathBuf> {
        match self {
            Self::Fit(args) => args.init.iter_mut().collect(),
            Self::MakePage(args) => args.init.iter_mut().collect(),
            Self::Eval(args) => args.checkpoint.iter_mut().collect(),
            Self::Caption(args) => vec![&mut args.model],
            Self::Embed(args) => vec![&mut args.model],
            Self::Export(args) => vec![&mut args.checkpoint],
            Self::Verify(args) => vec![&mut args.model],
            Self::Plot(command) => command.model().into_iter().collect(),
            Self::Import(_)
            | Self::Models(_)
            | Self::Data(_)
            | Self::Completions(_)
            | Self::Man(_) => Vec::new(),
        }
    }

    /// Returns whether the command may not use the network.
    pub fn is_offline(&self) -> bool {
        let common = match self {
            Self::Fit(args) => &args.common,
            Self::Eval(args) => &args.common,
            Self::Caption(args) => &args.common,
            Self::Embed(args) => &args.common,
            Self::Export(args) => &args.common,
            Self::MakePage(args) => &args.common,
            Self::Verify(args) => &args.common,
            Self::Plot(command) => return command.common().is_some_and(|common| common.offline),
            Self::Import(args) => return args.offline,
            Self::Data(_) | Self::Models(_) | Self::Completions(_) | Self::Man(_) => return false,
        };
        common.offline
    }
}
