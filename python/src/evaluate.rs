//! Evaluation tasks, with the options of `trainer eval`.

use clap::{CommandFactory, Parser};
use espalier_trainer::cli::{Cli, Command, EvalArgs};
use espalier_trainer::commands::eval::records;
use espalier_trainer::device::Backend;
use espalier_trainer::eval::tasks::ALL;
use espalier_trainer::exit::usage;
use pyo3::prelude::*;
use serde_json::Value;

use crate::arrays::of_json;
use crate::errors::{detached, exception};
use crate::model::Model;

/// Flags of `trainer eval` that are arguments of their own, or about printing and writing.
const OTHER_FLAGS: [&str; 9] = [
    "backend",
    "checkpoint",
    "data",
    "json",
    "offline",
    "out",
    "report",
    "suite",
    "task",
];

/// Returns the name, the metrics and the expected data of every task.
#[pyfunction]
pub fn tasks() -> Vec<(&'static str, String, String)> {
    let line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let all = ALL.iter();
    all.map(|task| (task.name, line(task.about), line(task.needs)))
        .collect()
}

/// Returns the names of the options of tasks, as arguments of Python.
#[pyfunction]
pub fn options() -> Vec<String> {
    let command = Cli::command();
    let eval = command.find_subcommand("eval");
    let flags = eval.into_iter().flat_map(clap::Command::get_arguments);
    let names = flags.filter_map(clap::Arg::get_long);
    let names = names.filter(|name| !OTHER_FLAGS.contains(name));
    names.map(|name| name.replace('-', "_")).collect()
}

/// Parses the arguments of `trainer eval`.
fn parse(arguments: &[String]) -> anyhow::Result<Box<EvalArgs>> {
    let words = ["trainer", "eval"].map(str::to_owned);
    match Cli::try_parse_from(words.iter().chain(arguments)) {
        Ok(Cli {
            command: Command::Eval(args),
        }) => Ok(args),
        Ok(_) => Err(usage("expected the arguments of `trainer eval`")),
        Err(error) => {
            // Without the advice on the command line that follows.
            let words = error.render().to_string();
            let words = words.split("\n\n").next().unwrap_or_default();
            Err(usage(words.strip_prefix("error: ").unwrap_or(words)))
        }
    }
}

/// Runs a task with the arguments of `trainer eval` and returns the record that it prints as JSON.
///
/// Ctrl-C is noticed before each batch of images.
#[pyfunction]
pub fn evaluate<'py>(
    py: Python<'py>,
    model: Option<&Bound<'py, Model>>,
    arguments: Vec<String>,
) -> PyResult<Bound<'py, PyAny>> {
    let args = parse(&arguments).map_err(exception)?;
    let model = model.map(Bound::get);
    let results = detached(py, || {
        let device = Backend::Flex.device()?;
        let check = || Python::attach(|py| Ok(py.check_signals()?));
        let model = model.map(Model::opened);
        let records = records(&args, (model, &device), &check)?;
        let values = records.iter().map(serde_json::to_value);
        Ok(values.collect::<Result<Vec<Value>, _>>()?)
    })?;
    match results.as_slice() {
        [one] => of_json(py, one),
        several => of_json(py, &Value::Array(several.to_vec())),
    }
}
