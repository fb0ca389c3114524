//! Runs those benchmarks of the papers whose data is found.

use super::one::one;
use super::report::{Done, report};
use crate::cli::EvalArgs;
use crate::eval::embedder::Embedder;
use crate::eval::suite::{self, Planned, beside};
use crate::exit::usage;
use crate::exit_code::code;

/// Runs every benchmark of the suite whose data is found.
///
/// # Errors
/// Bad usage if there is none, or if the data of one cannot be used; the others are reported first.
pub(super) fn whole(args: &EvalArgs, embedder: Option<&Embedder<'_>>) -> anyhow::Result<Vec<Done>> {
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
    let (found, absent) = suite::plan(folder);
    eprintln!(
        "not found below {}:\n{}",
        folder.display(),
        suite::missing(&absent)
    );
    if found.is_empty() {
        return Err(usage(format!(
            "{}: expected some of the suite's {} benchmarks, found none; the list above gives the \
             expected paths",
            folder.display(),
            absent.len()
        )));
    }
    let mut done = Vec::new();
    let mut failed = Vec::new();
    for planned in &found {
        match of_suite(args, embedder, planned) {
            Ok(result) => done.push(result),
            // Continue after broken data of one benchmark; stop at any other failure.
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
