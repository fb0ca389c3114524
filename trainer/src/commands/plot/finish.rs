//! Last step of every `trainer plot` command.

use espalier_figures::figure::{Canvas, Output, save};
use espalier_io::output::line;
use serde::Serialize;

/// Writes a figure and prints its numbers: all of them as JSON, or a short summary.
pub(super) fn finish(
    json: bool,
    output: &Output,
    canvas: &Canvas,
    data: &impl Serialize,
    summary: &[String],
) -> anyhow::Result<()> {
    save(canvas, output)?;
    if json {
        return line(serde_json::to_string(data)?);
    }
    for text in summary {
        line(text)?;
    }
    line(output.path().display())
}
