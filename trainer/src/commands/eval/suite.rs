//! Runs those benchmarks of the papers whose data is found.

use espalier_eval::embedder::Embedder;
use espalier_eval::suite::{self, Planned, companion_file};
use espalier_io::exit::usage;
use espalier_io::output::note;

use super::one::run_task;
use super::report::{Evaluated, report};
use crate::cli::EvalArgs;
use crate::exit_code::code;

/// Runs every benchmark of the suite whose data is found.
///
/// # Errors
/// Bad usage if there is none, or if the data of one cannot be used; the others are reported first.
pub(super) fn run_suite(
    args: &EvalArgs,
    embedder: Option<&Embedder<'_>>,
) -> anyhow::Result<Vec<Evaluated>> {
    let [folder] = args.data.as_slice() else {
        return Err(usage(
            "--suite: expected --data DIR, a folder with one folder per benchmark",
        ));
    };
    if !folder.is_dir() {
        return Err(usage(format!(
            "--data {}: expected a folder, found none there",
            folder.display()
        )));
    }
    let (available, absent) = suite::plan(folder);
    note(format_args!(
        "skipped, because their data is not below {}:\n{}",
        folder.display(),
        suite::missing(&absent)
    ));
    if available.is_empty() {
        return Err(usage(format!(
            "{}: expected some of the suite's {} benchmarks, found none; the list above has the \
             expected paths",
            folder.display(),
            absent.len()
        )));
    }
    let mut results = Vec::new();
    let mut failed = Vec::new();
    for planned in &available {
        match run_planned(args, embedder, planned) {
            Ok(result) => results.push(result),
            // Continue after broken data of one benchmark; stop at any other failure.
            Err(error) if code(&error) == 2 => {
                note(format_args!(
                    "{} on {}: {error:#}",
                    planned.task.name(),
                    planned.benchmark.dataset
                ));
                failed.push(planned.benchmark.dataset);
            }
            Err(error) => return Err(error),
        }
    }
    if !failed.is_empty() {
        report(args, &results)?;
        return Err(usage(format!(
            "these benchmarks cannot be used: {}",
            failed.join(", ")
        )));
    }
    Ok(results)
}

fn run_planned(
    args: &EvalArgs,
    embedder: Option<&Embedder<'_>>,
    planned: &Planned,
) -> anyhow::Result<Evaluated> {
    let mut options = args.options.clone();
    let path = &planned.path;
    options.class_names = options
        .class_names
        .or_else(|| companion_file(path, &["classnames.tsv"]));
    options.taxonomy = options
        .taxonomy
        .or_else(|| companion_file(path, &["taxonomy.tsv", "imagenet_isa.txt"]));
    let data = std::slice::from_ref(path);
    run_task(
        args,
        embedder,
        planned.task,
        &options,
        data,
        Some(planned.benchmark.dataset),
    )
}
