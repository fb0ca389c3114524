//! Last step of every `trainer plot` command.

use serde::Serialize;

use crate::cli::plot::FigureArgs;
use crate::figure::{Canvas, Output, save};

/// Writes a figure and prints its numbers: all of them as JSON, or a short summary.
pub(super) fn finish(
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
