//! Runs one task on a dataset.

use std::path::PathBuf;

use clap::ValueEnum;
use espalier_data::DataError;
use espalier_eval::embedder::Embedder;
use espalier_eval::task::Context;
use espalier_eval::{Options, Task};
use espalier_io::exit::usage;

use super::report::{Evaluated, record};
use crate::cli::EvalArgs;
use crate::config::MethodName;
use crate::exit_code::code;

/// Runs a task on a dataset; errors about the data also state what the task needs.
pub(super) fn run_task(
    args: &EvalArgs,
    embedder: Option<&Embedder<'_>>,
    task: &Task,
    options: &Options,
    data: &[PathBuf],
    dataset: Option<&str>,
) -> anyhow::Result<Evaluated> {
    let method = embedder.map(|embedder| embedder.model.card.method.as_str());
    let method = method.and_then(|name| MethodName::from_str(name, false).ok());
    let cx = Context {
        embedder,
        options,
        data,
        dataset,
        by_meru_protocol: method.is_some_and(MethodName::is_of_meru_family),
        by_angles: method.is_some_and(MethodName::compares_angles),
    };
    let mut outcome = (task.run)(&cx).map_err(|error| {
        if is_about_data(&error) {
            let needs: Vec<&str> = task.needs.split_whitespace().collect();
            let (name, needs) = (task.name, needs.join(" "));
            usage(format!("{error:#}\n{name} needs: {needs}"))
        } else {
            error
        }
    })?;
    let confusions = std::mem::take(&mut outcome.confusions);
    Ok(Evaluated {
        record: record(args, embedder, task, &cx, outcome),
        confusions,
        data: data.to_vec(),
        split: options.split.clone(),
    })
}

/// Returns whether an error means that the data is not what the task needs, rather than a problem
/// with an option or with single records.
fn is_about_data(error: &anyhow::Error) -> bool {
    let data = error.chain().find_map(|c| c.downcast_ref::<DataError>());
    match data {
        Some(DataError::TooManyBroken { .. } | DataError::Setting { .. }) => false,
        Some(_) => code(error) == 2,
        None => code(error) == 2 && error.to_string().starts_with("--data"),
    }
}
