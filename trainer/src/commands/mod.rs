//! The commands: each module runs one command with its parsed arguments.

pub mod caption;
pub mod completions;
pub mod data;
pub mod embed;
pub mod eval;
pub mod export;
pub mod fit;
pub mod import;
pub mod make_page;
pub mod models;
pub mod opened;
pub mod plot;
mod preview;
mod progress;
mod together;
pub mod verify;

use espalier_checkpoints::model_name;
use espalier_io::exit::usage;
use espalier_io::ranks::{self, Launch};
use espalier_io::storage;
use together::end_all;

use crate::cli::{Cli, Command, DataCommand};

/// Refuses to do the whole work of a command once in each of several processes.
fn check_launch(command: &Command) -> anyhow::Result<()> {
    match (command, Launch::of_this_process()) {
        (Command::Fit(_) | Command::Eval(_) | Command::Embed(_), _) | (_, None) => Ok(()),
        (_, Some(launch)) => Err(usage(format!(
            "expected one process, found {} started by {}; `trainer fit`, `eval` and `embed` share \
             their work between processes",
            launch.size, launch.by
        ))),
    }
}

/// Runs a command.
///
/// # Errors
/// The error of the command; [`crate::exit_code::code`] gives its exit code.
pub fn dispatch(cli: &Cli) -> anyhow::Result<()> {
    check_launch(&cli.command)?;
    let mut command = cli.command.clone();
    let offline = command.is_offline();
    if offline {
        storage::forbid_network();
    }
    for model in command.models() {
        *model = model_name::resolve(model, offline).or_else(|error| {
            // With several processes, one reports the error for all.
            Err(end_all(&ranks::start()?, error))
        })?;
    }
    match &command {
        Command::Fit(args) => fit::run(args),
        Command::Eval(args) => eval::run(args),
        Command::Caption(args) => caption::run(args),
        Command::Embed(args) => embed::run(args),
        Command::Import(args) => import::run(args),
        Command::Export(args) => export::run(args),
        Command::MakePage(args) => make_page::run(args),
        Command::Models(args) => models::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Plot(command) => plot::run(command),
        Command::Data(DataCommand::Audit(args)) => data::audit(args),
        Command::Data(DataCommand::Bench(args)) => data::bench(args),
        Command::Data(DataCommand::Prepare(args)) => data::prepare(args),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => completions::man(args),
    }
}
