//! `cargo xtask`: the commands of the repository.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use xtask::setup::wasm_target::Choice;
#[cfg(unix)]
use xtask::torture;
use xtask::totals::Totals;
use xtask::{
    agree, bench, ci, demo, dependencies, docs, fuzz, golden, mutants, page_cost, paths, release,
    scale, setup, siege, study, test_run, web_build,
};

/// Set-up, build, serve, test and check commands of Espalier.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Install what is missing; quick and silent if nothing is
    Setup {
        /// The wasm32 target, wasm-bindgen, trunk and wasm-opt
        #[arg(long)]
        wasm: bool,
        /// Chromium, chromedriver, axe-core and TypeScript
        #[arg(long)]
        browser: bool,
        /// Open MPI and libclang, for training in several processes
        #[arg(long)]
        mpi: bool,
        /// Python environments for the Python package and its tests
        #[arg(long)]
        python: bool,
        /// typos and cargo-deny, which `ci` skips if they are missing
        #[arg(long)]
        docs: bool,
        /// Use Debian's toolchain for wasm32 even if rustup's works
        #[arg(long, hide = true)]
        debian_wasm: bool,
    },
    /// Build the page into dist/
    BuildWeb {
        /// Optimise for size; budgets are enforced
        #[arg(long)]
        release: bool,
    },
    /// Make the archives of a release: the program, the page, the widget for npm, checksums
    Release(release::Options),
    /// Build the page and serve it with the shipped model
    Demo {
        /// Port on 127.0.0.1
        #[arg(long, default_value_t = 8080)]
        port: u16,
        /// Do not open a browser
        #[arg(long)]
        no_open: bool,
    },
    /// Install what the tests need and run all of them
    Test {
        /// Skip the tests in Chromium
        #[arg(long)]
        no_browser: bool,
        /// Skip the tests of training in several processes, and build without MPI
        #[arg(long)]
        no_mpi: bool,
        /// Skip the tests of the Python package
        #[arg(long)]
        no_python: bool,
    },
    /// Build the wheel of the Python package
    Python(xtask::python::Options),
    /// Run the checks of a change, cheapest first
    Ci(ci::Options),
    /// List every direct dependency with its reason, its age and its state
    Dependencies(dependencies::Options),
    /// Build the documentation as a site and check its links
    Docs(docs::Options),
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
    Siege(siege::Options),
    /// Generate the reference values below tests/golden again
    Golden {
        /// Only compare them with the stored ones
        #[arg(long)]
        check: bool,
    },
    /// Open the page with a bundle and print what it costs in bytes, memory and time
    PageCost {
        /// Folder of the bundle
        bundle: PathBuf,
    },
    /// Work out what a run in many processes costs, from measured parts
    Scale(scale::Options),
    /// Compare training and inference on the CPU with PyTorch
    Bench(bench::Options),
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
        Command::Setup {
            wasm,
            browser,
            mpi,
            python,
            docs,
            debian_wasm,
        } => {
            let all = !(wasm || browser || mpi || python || docs);
            if wasm || all {
                let choice = if debian_wasm {
                    Choice::Debian
                } else {
                    Choice::Best
                };
                setup::wasm(root, choice)?;
            }
            if browser || all {
                setup::browser::ensure()?;
                setup::axe::ensure()?;
                setup::typescript::ensure()?;
            }
            if mpi || all {
                setup::mpi::ensure()?;
            }
            if python || all {
                xtask::python::ensure(root)?;
            }
            if docs {
                setup::checkers(root)?;
            }
        }
        Command::BuildWeb { release } => {
            let tools = setup::wasm(root, Choice::Best)?;
            web_build::build(root, &tools, release)?;
        }
        Command::Release(options) => release::run(root, &options)?,
        Command::Demo { port, no_open } => demo::run(root, port, !no_open)?,
        Command::Test {
            no_browser,
            no_mpi,
            no_python,
        } => {
            let totals = test_run::run(root, !no_browser, !no_mpi, !no_python)?;
            return Ok(printed(totals));
        }
        Command::Python(options) => {
            let totals = xtask::python::run(root, &options)?;
            if options.test {
                return Ok(printed(totals));
            }
        }
        Command::Ci(options) => ci::run(root, &options)?,
        Command::Dependencies(options) => dependencies::run(root, &options)?,
        Command::Docs(options) => docs::run(root, &options)?,
        Command::Fuzz(options) => return fuzz::run(root, &options),
        Command::Mutants(options) => return mutants::run(root, &options),
        #[cfg(unix)]
        Command::Torture(options) => return torture::run(root, &options),
        Command::Golden { check } => golden::run_all(root, check)?,
        Command::Agree { photos } => agree::run(root, &photos)?,
        Command::Siege(options) => siege::run(root, &options)?,
        Command::PageCost { bundle } => page_cost::run(root, &bundle)?,
        Command::Scale(options) => scale::run(&options)?,
        Command::Bench(options) => bench::run(root, &options)?,
        Command::Study(options) => study::run(root, &options)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints totals and returns the exit code.
fn printed(totals: Totals) -> ExitCode {
    // The last line: what a reader or a script looks for.
    println!("{totals}");
    if totals.failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
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
    fn the_demo_is_served_at_port_8080_by_default() {
        let cli = Cli::parse_from(["cargo xtask", "demo"]);
        assert!(matches!(
            cli.command,
            Command::Demo {
                port: 8080,
                no_open: false
            }
        ));
    }
}
