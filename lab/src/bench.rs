//! `cargo xtask bench`: compares inference and training with ONNX Runtime and PyTorch, retrieval
//! with NumPy and FAISS, and the engine of the page with ONNX Runtime Web.
//!
//! All programs do the same work on the same shapes, in alternating rounds. Only ratios within one
//! run are meaningful: absolute numbers depend on the machine and its load.

mod browser;
mod folder;
mod inference;
mod measure;
mod parts;
mod program;
mod programs;
mod retrieval;
mod rounds;
mod site;
mod training;

use std::path::Path;

use anyhow::{Result, bail};
use xtask::document;
use xtask::names::name_of;

pub use self::measure::Options;
use self::measure::{DOCUMENT, Work, load_average};
pub(crate) use self::program::Program;
use self::programs::Programs;
pub(crate) use self::rounds::{Comparison, table};
pub(crate) use self::training::{LITE0, VIT, check_parameters};

/// Measures, prints the figures and, with `--write`, stores them in the document.
///
/// # Errors
/// Fails if a program cannot be built or run, or if our result differs from a peer's.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    if options.only == Some(Work::Folder) && options.photos.is_none() {
        bail!("--only folder: expected --photos DIR, a folder of photos");
    }
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
    if is_selected(Work::Retrieval) {
        report("bench --only retrieval", retrieval::run(root, options)?)?;
    }
    let with_peers = [Work::Inference, Work::Training, Work::Folder, Work::Browser];
    let with_peers = with_peers
        .into_iter()
        .filter(|work| is_selected(*work))
        .filter(|work| *work != Work::Folder || options.photos.is_some());
    let mut programs = None;
    for work in with_peers {
        let programs = match &mut programs {
            Some(programs) => programs,
            none => none.insert(Programs::start(root, options)?),
        };
        let (load, versions) = (load_average(), programs.versions());
        let (versions, tables) = match work {
            Work::Browser => browser::run(root, programs, options)?,
            Work::Training => (versions, training::run(programs, options)?),
            Work::Folder => (versions, folder::run(root, programs, options)?),
            _ => (versions, inference::run(programs, options)?),
        };
        let settings = settings(root, options, work, &load, &versions);
        report(
            &format!("bench --only {}", name_of(&work)),
            format!("{settings}\n{tables}"),
        )?;
    }
    Ok(())
}

/// Returns the machine, source and command of a measurement.
fn settings(root: &Path, options: &Options, work: Work, load: &str, versions: &str) -> String {
    // The name of the folder says nothing on another machine.
    let photos = match work {
        Work::Folder => " --photos DIR",
        _ => "",
    };
    format!(
        "- Machine: {}; load average before: {}\n\
         - Source: {}\n\
         - Programs: {versions}\n\
         - Command: `cargo xtask bench --only {}{photos} --rounds {} --seconds {} --threads {}`\n",
        document::machine(),
        load,
        document::source(root, DOCUMENT),
        name_of(&work),
        options.rounds,
        options.seconds,
        options.threads,
    )
}
