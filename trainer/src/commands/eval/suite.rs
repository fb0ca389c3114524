//! Runs those benchmarks of the papers whose data is found.

use espalier_eval::embedder::Embedder;
use espalier_eval::suite::{self, Planned, companion_file};
use espalier_io::exit::usage;
use espalier_io::output::note;

use super::one::run_task;
use super::report::Evaluated;
use super::results::Results;
use crate::cli::EvalArgs;

/// Runs every benchmark of the suite whose data is found.
///
/// # Errors
/// Bad usage if there is none; any failure but that of the data of one benchmark.
pub(super) fn run_suite(
    args: &EvalArgs,
    embedder: Option<&Embedder<'_>>,
) -> anyhow::Result<Results> {
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
    let mut results = Results::default();
    for planned in &available {
        let name = format!("{} on {}", planned.task.name, planned.benchmark.dataset);
        results.add(&name, run_planned(args, embedder, planned))?;
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
    let found = |names: &[&str]| companion_file(path, names);
    options.class_names = options.class_names.or_else(|| found(&["classnames.tsv"]));
    options.taxonomy = options
        .taxonomy
        .or_else(|| found(&["taxonomy.tsv", "imagenet_isa.txt"]));
    let data = std::slice::from_ref(path);
    let dataset = Some(planned.benchmark.dataset);
    run_task(args, embedder, planned.task, &options, data, dataset)
}
