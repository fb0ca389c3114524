//! `trainer completions` and `trainer man`, both made from the definition of the command line.

use std::fs;
use std::path::Path;

use anyhow::Context;
use clap_mangen::Man;
use espalier_io::disk::write::write_atomic;
use espalier_io::output;

use crate::cli::{self, CompletionsArgs, ManArgs};

/// Prints a completion script for the name that the program was called by.
///
/// # Errors
/// Fails if standard output cannot be written.
pub fn run(args: &CompletionsArgs) -> anyhow::Result<()> {
    let mut command = cli::definition();
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    output::line(String::from_utf8(script)?.trim_end())
}

/// Prints the manual page of the program, or writes the pages of all commands to a folder.
///
/// # Errors
/// Fails if the folder or standard output cannot be written.
pub fn man(args: &ManArgs) -> anyhow::Result<()> {
    // The pages of the commands' own `help` would repeat the others.
    let mut command = cli::definition().disable_help_subcommand(true);
    // Gives every command its full name, such as `trainer-data-audit`.
    command.build();
    match &args.out {
        None => output::line(page(&Man::new(command))?.trim_end()),
        Some(folder) => {
            fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
            write_pages(&command, folder)
        }
    }
}

fn write_pages(command: &clap::Command, folder: &Path) -> anyhow::Result<()> {
    let man = Man::new(command.clone());
    write_atomic(&folder.join(man.get_filename()), page(&man)?.as_bytes())?;
    command
        .get_subcommands()
        .try_for_each(|sub| write_pages(sub, folder))
}

fn page(man: &Man) -> anyhow::Result<String> {
    let mut text = Vec::new();
    man.render(&mut text)?;
    Ok(String::from_utf8(text)?)
}
