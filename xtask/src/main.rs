//! `cargo xtask`: the commands of the repository.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use xtask::totals::Totals;
use xtask::{
    ci, demo, dependencies, docs, golden, lab, paths, release, setup, test_run, web_build,
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
    /// Install what the tests need and run those that every change needs, or all
    Test(test_run::Options),
    /// Build the wheel of the Python package
    Python(xtask::python::Options),
    /// Run the checks of a change, cheapest first
    Ci(ci::Options),
    /// List every direct dependency with its reason, its age and its state
    Dependencies(dependencies::Options),
    /// Build the documentation as a site and check its links
    Docs(docs::Options),
    /// Generate the reference values below tests/golden again
    Golden {
        /// Only compare them with the stored ones
        #[arg(long)]
        check: bool,
    },
}

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let code = match lab::call(&arguments) {
        Some(call) => paths::root().and_then(|root| lab::run(&root, &call)),
        None => {
            let matches = lab::listed(Cli::command()).get_matches();
            let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
            paths::root().and_then(|root| run(&root, cli.command))
        }
    };
    match code {
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
        } => {
            let all = !(wasm || browser || mpi || python || docs);
            if wasm || all {
                setup::wasm(root)?;
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
            let tools = setup::wasm(root)?;
            web_build::build(root, &tools, release)?;
        }
        Command::Release(options) => release::run(root, &options)?,
        Command::Demo { port, no_open } => demo::run(root, port, !no_open)?,
        Command::Test(options) => return Ok(printed(test_run::run(root, &options)?)),
        Command::Python(options) => {
            let totals = xtask::python::run(root, &options)?;
            if options.test {
                return Ok(printed(totals));
            }
        }
        Command::Ci(options) => ci::run(root, &options)?,
        Command::Dependencies(options) => dependencies::run(root, &options)?,
        Command::Docs(options) => docs::run(root, &options)?,
        Command::Golden { check } => golden::run_all(root, check)?,
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

    #[test]
    fn the_command_line_is_consistent() {
        lab::listed(Cli::command()).debug_assert();
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
