//! `trainer plot`: figures of the papers from any checkpoint.

pub mod args;
mod disk;
mod factors;
mod inputs;
mod ladder;
mod norms;
mod pr;
mod traversal;
mod umap;

pub use args::PlotCommand;

use serde::Serialize;

use self::args::FigureArgs;
use crate::figure::{Canvas, Output, save};

/// Make a figure.
///
/// # Errors
/// Bad usage or data (exit code 2), a failing device or disk (1).
pub fn run(command: &PlotCommand) -> anyhow::Result<()> {
    match command {
        PlotCommand::Norms(args) => norms::run(args),
        PlotCommand::Traversal(args) => traversal::run(args),
        PlotCommand::Disk(args) => disk::run(args),
        PlotCommand::Umap(args) => umap::run(args),
        PlotCommand::Factors(args) => factors::run(args),
        PlotCommand::Pr(args) => pr::run(args),
        PlotCommand::Ladder(args) => ladder::run(args),
    }
}

/// Write a figure and print its numbers: all of them as JSON, or a few lines.
fn finish(
    args: &FigureArgs,
    output: &Output,
    canvas: &Canvas,
    data: &impl Serialize,
    summary: &[String],
) -> anyhow::Result<()> {
    save(canvas, output)?;
    if args.common.json {
        println!("{}", serde_json::to_string(data)?);
        return Ok(());
    }
    for line in summary {
        println!("{line}");
    }
    println!("{}", output.path().display());
    Ok(())
}
