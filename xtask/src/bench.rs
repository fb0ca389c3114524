//! `cargo xtask bench`: compares inference and training with ONNX Runtime and PyTorch, retrieval
//! with NumPy and FAISS, and the engine of the page with ONNX Runtime Web.
//!
//! All programs do the same work on the same shapes, in alternating rounds. Only ratios within one
//! run are meaningful: absolute numbers depend on the machine and its load.

mod inference;
mod measure;
mod parts;
mod program;
mod programs;
mod retrieval;
mod rounds;
mod training;

use std::path::Path;

use anyhow::{Result, bail};

pub use self::measure::Options;
use self::measure::{DOCUMENT, Work, load_average};
use self::programs::Programs;
use crate::document;

/// Measures, prints the figures and, with `--write`, stores them in the document.
///
/// # Errors
/// Fails if a program cannot be built or run, or if our result differs from a peer's.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    if options.rounds == 0 || options.threads == 0 {
        bail!("--rounds and --threads must be at least 1");
    }
    let is_selected = |work: Work| options.only.is_none_or(|only| only == work);
    let report = |name: &str, text: String| {
        println!("{text}");
        if options.write {
            document::insert(root, DOCUMENT, name, &text)?;
        }
        Ok::<_, anyhow::Error>(())
    };
    if is_selected(Work::Inference) || is_selected(Work::Training) {
        let mut programs = Programs::start(root, options)?;
        for (work, name) in [(Work::Inference, "inference"), (Work::Training, "training")] {
            if !is_selected(work) {
                continue;
            }
            let settings = settings(root, options, name, &programs.versions());
            let tables = match work {
                Work::Inference => inference::run(&mut programs, options)?,
                _ => training::run(&mut programs, options)?,
            };
            report(
                &format!("bench --only {name}"),
                format!("{settings}\n{tables}"),
            )?;
        }
    }
    if is_selected(Work::Retrieval) {
        report("bench --only retrieval", retrieval::run(root, options)?)?;
    }
    Ok(())
}

/// Machine, source and command of a measurement that begins now.
fn settings(root: &Path, options: &Options, name: &str, versions: &str) -> String {
    format!(
        "- Machine: {}; load average at the start: {}\n\
         - Source: {}\n\
         - Programs: {versions}\n\
         - Command: `cargo xtask bench --only {name} --rounds {} --seconds {} --threads {}`\n",
        document::machine(),
        load_average(),
        document::source(root, DOCUMENT),
        options.rounds,
        options.seconds,
        options.threads,
    )
}
