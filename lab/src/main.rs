//! The program behind the commands that `cargo xtask` lists in `xtask::lab::COMMANDS`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
#[cfg(unix)]
use espalier_lab::torture;
use espalier_lab::{bench, browsers, fuzz, gpu, mutants, scale, study};
use xtask::paths;

/// Measurements and campaigns of Espalier.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Search for inputs that break the code that reads files, texts and messages
    Fuzz(fuzz::Options),
    /// Compare the answers of all engines and browsers to a folder of photos
    Agree {
        /// Folder of photos; folders in it are read, too
        photos: PathBuf,
    },
    /// Change the code in small ways and count the changes that no test notices
    Mutants(mutants::Options),
    /// Kill `trainer` at random moments, fill its disk, and check what it leaves
    #[cfg(unix)]
    Torture(torture::Options),
    /// Give the page hundreds of photos in Chromium and Firefox, and end its engines
    Siege(browsers::SiegeOptions),
    /// Open the page with a bundle and print what it costs in bytes, memory and time
    PageCost {
        /// Folder of the bundle
        bundle: PathBuf,
    },
    /// Work out what a run in many processes costs, from measured parts
    Scale(scale::Options),
    /// Compare training and inference on the CPU with PyTorch
    Bench(bench::Options),
    /// Compare training on a GPU with PyTorch, on this machine or on one that ssh reaches
    Gpu(gpu::Options),
    /// Train methods from the same start and compare them over several seeds
    Study(Box<study::Options>),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match paths::root().and_then(|root| run(&root, cli.command)) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(root: &Path, command: Command) -> Result<ExitCode> {
    match command {
        Command::Fuzz(options) => return fuzz::run(root, &options),
        Command::Mutants(options) => return mutants::run(root, &options),
        #[cfg(unix)]
        Command::Torture(options) => return torture::run(root, &options),
        Command::Agree { photos } => browsers::agree(root, &photos)?,
        Command::Siege(options) => browsers::siege(root, &options)?,
        Command::PageCost { bundle } => browsers::page_cost(root, &bundle)?,
        Command::Scale(options) => scale::run(&options)?,
        Command::Bench(options) => bench::run(root, &options)?,
        Command::Gpu(options) => gpu::run(root, &options)?,
        Command::Study(options) => study::run(root, &options)?,
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_commands_are_those_that_xtask_lists_in_the_same_words() {
        let cli = Cli::command();
        let ours: Vec<(&str, String)> = cli
            .get_subcommands()
            .map(|command| {
                let about = command.get_about().map(ToString::to_string);
                (command.get_name(), about.unwrap_or_default())
            })
            .collect();
        let listed = xtask::lab::COMMANDS
            .iter()
            .map(|(name, about)| (*name, (*about).to_owned()));
        assert_eq!(ours, listed.collect::<Vec<_>>());
    }
}
