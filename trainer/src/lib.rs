//! The trainer as a library, so that tests can call its commands without starting a process.
//!
//! A command parses its arguments ([`cli`]), does its work ([`commands`]) and prints the result or
//! the path of its output. [`fit`] turns [`data`] into checkpoints ([`model_file`]); [`eval`] turns
//! checkpoints into metrics, and [`export`] turns them into bundles.

#![cfg_attr(test, allow(clippy::unwrap_used))]

use std::process::ExitCode;

use clap::Parser;

pub mod classifier_file;
pub mod cli;
pub mod commands;
pub mod config;
pub mod data;
pub mod device;
pub mod disk;
pub mod eval;
pub mod exit;
pub mod exit_code;
pub mod export;
pub mod figure;
pub mod fit;
pub mod import;
pub mod layout;
pub mod memory;
pub mod model_file;
pub mod output;
pub mod plot;
pub mod ranks;
pub mod storage;
pub mod tensors;
pub mod words;

/// Parses the command line, runs the command, prints its error and returns its exit code.
#[must_use]
pub fn run() -> ExitCode {
    let cli = cli::Cli::parse();
    match commands::dispatch(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let message = format!("{error:#}");
            if !message.is_empty() {
                output::note(format_args!(
                    "error: {}",
                    storage::without_secrets(&message)
                ));
            }
            ExitCode::from(exit_code::code(&error))
        }
    }
}
