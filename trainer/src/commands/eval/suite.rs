//! The benchmarks of the papers, those that are there.

use super::one::one;
use super::report::{Done, report};
use crate::cli::EvalArgs;
use crate::eval::embedder::Embedder;
use crate::eval::suite::{self, Planned, beside};
use crate::exit::usage;
use crate::exit_code::code;

/// Every benchmark of the suite that is there.
///
/// # Errors
/// Bad usage where there is none, or where one of them cannot be used; the others are reported
/// first.
pub(super) fn whole(args: &EvalArgs, embedder: Option<&Embedder<'_>>) -> anyhow::Result<Vec<Done>> {
    let [folder] = args.data.as_slice() else {
        return Err(usage(
            "--suite: expected --data DIR with a folder a benchmark",
        ));
    };
    if !folder.is_dir() {
        return Err(usage(format!(
            "--data {}: expected a folder, found none",
            folder.display()
        )));
    }
    let (found, absent) = suite::plan(folder);
    eprintln!(
        "not found below {}:\n{}",
        folder.display(),
        suite::missing(&absent)
    );
    if found.is_empty() {
        return Err(usage(format!(
            "{}: found none of the suite's {} benchmarks; how they must lie is listed above",
            folder.display(),
            absent.len()
        )));
    }
    let mut done = Vec::new();
    let mut failed = Vec::new();
    for planned in &found {
        match of_suite(args, embedder, planned) {
            Ok(result) => done.push(result),
            // Broken data of one benchmark does not hide the others; a failing device does.
            Err(error) if code(&error) == 2 => {
                eprintln!(
                    "{} on {}: {error:#}",
                    planned.task.name(),
                    planned.place.dataset
                );
                failed.push(planned.place.dataset);
            }
            Err(error) => return Err(error),
        }
    }
    if !failed.is_empty() {
        report(args, &done)?;
        return Err(usage(format!(
            "these benchmarks cannot be used: {}",
            failed.join(", ")
        )));
    }
    Ok(done)
}

fn of_suite(
    args: &EvalArgs,
    embedder: Option<&Embedder<'_>>,
    planned: &Planned,
) -> anyhow::Result<Done> {
    let mut options = args.options.clone();
    let path = &planned.path;
    options.class_names = options
        .class_names
        .or_else(|| beside(path, &["classnames.tsv"]));
    options.taxonomy = options
        .taxonomy
        .or_else(|| beside(path, &["taxonomy.tsv", "imagenet_isa.txt"]));
    let data = std::slice::from_ref(path);
    one(
        args,
        embedder,
        planned.task,
        &options,
        data,
        Some(planned.place.dataset),
    )
}
