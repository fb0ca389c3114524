//! The end of every `trainer plot`.

use serde::Serialize;

use crate::cli::plot::FigureArgs;
use crate::figure::{Canvas, Output, save};

/// Write a figure and print its numbers: all of them as JSON, or a few lines.
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
