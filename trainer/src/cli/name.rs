//! The name that the program was called by, which its help shows.
//!
//! It is installed as `trainer` and as `espalier`. Help is written with the first name; called by the
//! other one, every command that it names begins with that one.

use std::ffi::OsStr;
use std::path::Path;

use clap::Command;
use clap::builder::{Resettable, StyledStr};

/// The names that the program is installed under; the first is the one that help is written with.
pub const NAMES: [&str; 2] = ["trainer", "espalier"];

/// Returns the one of [`NAMES`] that a program was started by, or the first one for any other path.
pub fn called_as(program: Option<&OsStr>) -> &'static str {
    let stem = program.and_then(|path| Path::new(path).file_stem());
    let called = NAMES
        .into_iter()
        .find(|name| stem == Some(OsStr::new(name)));
    called.unwrap_or(NAMES[0])
}

/// Gives the command line another name, also in the examples and references of its help.
pub fn renamed(command: Command, name: &'static str) -> Command {
    let command = command.name(name).bin_name(name);
    if name == NAMES[0] {
        return command;
    }
    let commands: Vec<String> = command
        .get_subcommands()
        .map(|sub| sub.get_name().to_owned())
        .collect();
    with_texts(command, &|text| {
        commands.iter().fold(text, |text, sub| {
            text.replace(&format!("{} {sub}", NAMES[0]), &format!("{name} {sub}"))
        })
    })
}

/// Changes every text of the help of a command, its arguments and its subcommands.
fn with_texts(command: Command, change: &dyn Fn(String) -> String) -> Command {
    let changed = |text: Option<&StyledStr>| -> Resettable<StyledStr> {
        text.map(|text| change(text.to_string()).into()).into()
    };
    let (about, long_about) = (
        changed(command.get_about()),
        changed(command.get_long_about()),
    );
    let after = changed(command.get_after_help());
    let mut command = command.mut_args(|arg| {
        let (help, long) = (changed(arg.get_help()), changed(arg.get_long_help()));
        arg.help(help).long_help(long)
    });
    command = command
        .about(about)
        .long_about(long_about)
        .after_help(after);
    command.mut_subcommands(|sub| with_texts(sub, change))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_that_of_the_file_without_folder_and_ending() {
        let called = |path: &str| called_as(Some(OsStr::new(path)));
        assert_eq!(called("/usr/local/bin/espalier"), "espalier");
        assert_eq!(called("espalier.exe"), "espalier");
        assert_eq!(called("target/release/trainer"), "trainer");
        assert_eq!(called("a-link"), "trainer");
        assert_eq!(called_as(None), "trainer");
    }

    #[test]
    fn help_names_commands_by_the_name_in_use_and_keeps_other_words() {
        let command = Command::new("trainer")
            .about("The trainer reads data.")
            .subcommand(
                Command::new("fit")
                    .about("Train; see `trainer export`.")
                    .arg(clap::Arg::new("data").help("As for `trainer export`."))
                    .after_help("Example: trainer fit --data x"),
            )
            .subcommand(Command::new("export"));
        let mut renamed = renamed(command, "espalier");
        assert!(
            renamed
                .render_help()
                .to_string()
                .starts_with("The trainer reads data.")
        );
        let fit = renamed.find_subcommand_mut("fit").unwrap();
        let help = fit.render_help().to_string();
        assert!(help.contains("Example: espalier fit --data x"), "{help}");
        assert!(help.contains("As for `espalier export`"), "{help}");
        assert!(help.contains("see `espalier export`"), "{help}");
    }
}
