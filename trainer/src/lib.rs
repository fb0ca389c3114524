//! The trainer as a library, so that tests call its commands without a process.
//!
//! A command parses its arguments ([`cli`]), does its work ([`commands`]) and says where the
//! result is. Data flows from [`data`] through [`fit`] into checkpoints ([`model_file`]), and from
//! those through [`eval`] into numbers and through [`export`] into bundles.

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
pub mod plot;
pub mod tensors;
pub mod words;

/// Parse the command line, run the command, say what went wrong.
#[must_use]
pub fn run() -> ExitCode {
    let cli = cli::Cli::parse();
    match commands::dispatch(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(exit_code::code(&error))
        }
    }
}
