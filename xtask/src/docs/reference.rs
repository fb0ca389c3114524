//! Reference pages of a command line, from the help of the program itself.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};

use crate::process::{capture, command};

/// A generated page of the site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Path in the source of the site.
    pub path: String,
    /// Title, as the list of references shows it.
    pub title: String,
    /// What it is about; empty for a page that is only reached from another one.
    pub about: String,
    /// The page as Markdown.
    pub text: String,
}

/// Returns a page for every command of a program, and one that lists them.
///
/// # Errors
/// Fails if the program prints no help.
pub fn pages(program: &Path, name: &str) -> Result<Vec<Page>> {
    let root = help(program, &[])?;
    let file = name.replace(' ', "-");
    let mut index = format!("# `{name}`\n\n{}\n\n", root.about);
    let mut pages = Vec::new();
    let mut tree = String::from("\n```{toctree}\n:hidden:\n\n");
    for (verb, about) in &root.commands {
        let about = escaped(about);
        writeln!(index, "- [`{name} {verb}`]({file}-{verb}.md): {about}").ok();
        writeln!(tree, "{file}-{verb}.md").ok();
        pages.push(Page {
            path: format!("reference/{file}-{verb}.md"),
            title: format!("{name} {verb}"),
            about: String::new(),
            text: page(program, name, verb)?,
        });
    }
    let text = format!("{index}\n{}{tree}```\n", root.sections("##"));
    pages.insert(
        0,
        Page {
            path: format!("reference/{file}.md"),
            title: format!("`{name}`"),
            about: "every command with its arguments and options".to_owned(),
            text,
        },
    );
    Ok(pages)
}

/// Returns the page that leads to the API of the packages, which rustdoc writes to `api/` of the site.
pub fn api(packages: &[&str]) -> Page {
    let mut text = "# API\n\nEvery public item, from the comments in the sources:\n\n".to_owned();
    for package in packages {
        let folder = package.replace('-', "_");
        let link = format!("../api/{folder}/index.html");
        writeln!(text, "- <a href=\"{link}\"><code>{package}</code></a>").ok();
    }
    Page {
        path: "reference/api.md".to_owned(),
        title: "API".to_owned(),
        about: "every public item of core, its kernels, and the trainer".to_owned(),
        text,
    }
}

/// Returns the page of a command, with its own commands as sections.
fn page(program: &Path, name: &str, verb: &str) -> Result<String> {
    let help_of = |words: &[&str]| help(program, words);
    let of_verb = help_of(&[verb])?;
    let mut text = of_verb.text(&format!("# `{name} {verb}`"), "##");
    for (inner, _) in &of_verb.commands {
        let of_inner = help_of(&[verb, inner])?;
        text += &of_inner.text(&format!("\n## `{name} {verb} {inner}`"), "###");
    }
    Ok(text)
}

fn help(program: &Path, words: &[&str]) -> Result<Help> {
    let said = capture(command(program).args(words).arg("--help"))?;
    Help::read(&said).with_context(|| {
        format!(
            "expected a usage line in the help of `{} {}`, found:\n{said}",
            program.display(),
            words.join(" ")
        )
    })
}

/// A name, and the lines that describe it.
type Entry = (String, Vec<String>);

/// The help of one command.
#[derive(Debug, Default)]
struct Help {
    about: String,
    usage: String,
    /// Commands below it, with the first line about each.
    commands: Vec<(String, String)>,
    /// Title of each other section, with its entries: a term, and the lines about it.
    lists: Vec<(String, Vec<Entry>)>,
    /// What stands after the options: examples.
    after: Vec<String>,
}

impl Help {
    /// Reads what clap prints for `--help`; `None` without a usage line.
    fn read(text: &str) -> Option<Self> {
        let (about, rest) = text.split_once("Usage: ")?;
        let (usage, rest) = rest.split_once('\n')?;
        let mut help = Self {
            about: about.trim().to_owned(),
            usage: usage.to_owned(),
            ..Self::default()
        };
        let mut inside_commands = false;
        for line in rest.lines() {
            let indent = line.len() - line.trim_start().len();
            let words = line.trim();
            match indent {
                0 if words.is_empty() => {}
                0 if words.ends_with(':') => {
                    inside_commands = words == "Commands:";
                    if !inside_commands {
                        let title = words.trim_end_matches(':').to_owned();
                        help.lists.push((title, Vec::new()));
                    }
                }
                0 => help.after.push(words.to_owned()),
                // An example goes on in the next line.
                _ if !help.after.is_empty() => help.after.push(words.to_owned()),
                _ if inside_commands => help.add_command(words),
                2..=6 => help.add_term(words),
                _ => help.add_line(words),
            }
        }
        Some(help)
    }

    fn add_command(&mut self, words: &str) {
        let (name, about) = words.split_once(' ').unwrap_or((words, ""));
        if name != "help" {
            self.commands
                .push((name.to_owned(), about.trim().to_owned()));
        }
    }

    /// Adds an option; short help has its description on the same line, after two spaces.
    fn add_term(&mut self, words: &str) {
        let (term, about) = words.split_once("  ").unwrap_or((words, ""));
        let about: Vec<String> = match about.trim() {
            "" => Vec::new(),
            about => vec![about.to_owned()],
        };
        if let Some((_, entries)) = self.lists.last_mut() {
            entries.push((term.to_owned(), about));
        }
    }

    fn add_line(&mut self, words: &str) {
        if let Some((_, lines)) = self.lists.last_mut().and_then(|(_, list)| list.last_mut()) {
            lines.push(words.to_owned());
        }
    }

    /// Returns the help as Markdown, below a heading.
    fn text(&self, heading: &str, level: &str) -> String {
        let about = escaped(&self.about);
        let mut text = format!("{heading}\n\n{about}\n\n```text\n{}\n```\n", self.usage);
        let examples: Vec<&str> = self
            .after
            .iter()
            .map(|line| line.strip_prefix("Example: ").unwrap_or(line))
            .collect();
        if !examples.is_empty() {
            write!(text, "\nExample:\n\n```sh\n{}\n```\n", examples.join("\n")).ok();
        }
        text + &self.sections(level)
    }

    /// Returns the lists of arguments and options as Markdown.
    fn sections(&self, level: &str) -> String {
        let mut text = String::new();
        for (title, entries) in &self.lists {
            write!(text, "\n{level} {title}\n\n").ok();
            for (term, lines) in entries {
                let about = described(lines);
                write!(text, "`{term}`\n: {about}\n\n").ok();
            }
        }
        text
    }
}

/// Returns the lines about a term as paragraphs, and its values as a list.
fn described(lines: &[String]) -> String {
    let mut text = String::new();
    for line in lines {
        let gap = match (text.is_empty(), line.starts_with("- ")) {
            (true, _) => "",
            (false, true) => "\n  ",
            (false, false) => "\n\n  ",
        };
        let value = line.strip_prefix("- ").map(|value| {
            let (name, about) = value.split_once(':').unwrap_or((value, ""));
            let about = escaped(about.trim());
            let colon = if about.is_empty() { "" } else { ": " };
            format!("- `{name}`{colon}{about}")
        });
        text = text + gap + &value.unwrap_or_else(|| escaped(line));
    }
    if text.is_empty() {
        text.push_str("(no description)");
    }
    text
}

/// Returns words without what Markdown would take for its own signs.
fn escaped(words: &str) -> String {
    words
        .chars()
        .flat_map(|c| {
            let sign = matches!(
                c,
                '*' | '_' | '<' | '[' | ']' | '`' | '{' | '}' | '|' | '\\'
            );
            sign.then_some('\\').into_iter().chain([c])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELP: &str = "Train a model\n\nUsage: trainer fit [OPTIONS] [KEY=VALUE]...\n\n\
        Commands:\n  norms  Distances of *all*\n  help   Print this\n\n\
        Arguments:\n  [KEY=VALUE]...\n          Keys of the configuration\n\n\
        Options:\n      --dataset <DATASET>\n          Kind of dataset\n\n          Possible values:\n          \
        - grit:   Shards\n          - labels: Folders\n\n  -h, --help\n          Print help\n\n\
        Example: trainer fit --dataset grit\nExample: trainer fit x\n";

    #[test]
    fn the_help_of_a_command_becomes_lists_of_terms() {
        let help = Help::read(HELP).unwrap();
        assert_eq!(
            help.commands,
            [("norms".to_owned(), "Distances of *all*".to_owned())]
        );
        let text = help.text("# `trainer fit`", "##");
        let expected = "# `trainer fit`\n\nTrain a model\n\n```text\ntrainer fit [OPTIONS] [KEY=VALUE]...\n```\n\
            \nExample:\n\n```sh\ntrainer fit --dataset grit\ntrainer fit x\n```\n\
            \n## Arguments\n\n`[KEY=VALUE]...`\n: Keys of the configuration\n\n\
            \n## Options\n\n`--dataset <DATASET>`\n: Kind of dataset\n";
        assert!(text.starts_with(expected), "{text}");
        let values =
            "Kind of dataset\n\n  Possible values:\n  - `grit`: Shards\n  - `labels`: Folders\n";
        assert!(text.contains(values), "{text}");
        assert!(text.ends_with("`-h, --help`\n: Print help\n\n"), "{text}");
    }

    #[test]
    fn signs_of_markdown_are_shown_as_they_are() {
        assert_eq!(escaped("a_b <C> [x] *"), r"a\_b \<C> \[x\] \*");
    }

    #[test]
    fn a_text_without_usage_is_no_help() {
        assert!(Help::read("error: unknown command\n").is_none());
    }
}
