//! The trainer as a library, so that tests and the Python package can call its commands without starting a
//! process. It names the modules of all packages that it is made of.
//!
//! A command parses its arguments ([`cli`]), does its work ([`commands`]) and prints the result or
//! the path of its output. [`fit`] turns [`data`] into checkpoints ([`model_file`]); [`eval`] turns
//! checkpoints into metrics, and [`export`] turns them into bundles.

use std::ffi::OsString;
use std::process::ExitCode;

pub mod cli;
pub mod commands;
pub mod config;
pub mod exit_code;
pub mod export;
pub mod fit;
pub mod memory;
pub mod photos;

pub use espalier_checkpoints::{
    averaged, classifier_file, device, first_weights, import, layout, model_file, model_name,
};
pub use espalier_data as data;
pub use espalier_eval as eval;
pub use espalier_eval::tensors;
pub use espalier_figures::{figure, plot};
pub use espalier_io::{disk, exit, output, ranks, run_metrics, storage};

/// Parses the command line, runs the command, prints its error and returns its exit code.
pub fn run() -> ExitCode {
    memory::keep_freed_blocks();
    ExitCode::from(run_with(std::env::args_os()))
}

/// Runs the command of these arguments, of which the first is the name of the program.
///
/// Prints its error and returns its exit code.
pub fn run_with(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = match cli::parse(arguments) {
        Ok(cli) => cli,
        // Also help and version, which go to standard output.
        Err(message) => {
            let _ = message.print();
            return u8::try_from(message.exit_code()).unwrap_or(2);
        }
    };
    match commands::dispatch(&cli) {
        Ok(()) => 0,
        Err(error) => {
            let message = format!("{error:#}");
            if !message.is_empty() {
                output::note(format_args!(
                    "error: {}",
                    storage::without_secrets(&message)
                ));
            }
            exit_code::code(&error)
        }
    }
}
