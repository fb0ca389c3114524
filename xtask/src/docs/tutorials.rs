//! Runs the commands of the tutorials, and writes what they print, and the images that they draw, into the
//! documents, or compares it with them.
//!
//! In a tutorial, `<!-- run -->` stands above a block `sh` that is to be run; the block `text` that follows
//! shows what it printed. `<!-- run: 6 … 8 -->` shows the first six and the last eight lines. All blocks of
//! one tutorial run in one folder, which looks like the repository. An image of the tutorial is replaced
//! where a command wrote a file of its name.
//!
//! A check compares words, not numbers, since processors round differently. `<!-- run, varies -->` stands
//! above commands whose words depend on rounding, too: a check only runs them.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::documents::resolve;
use super::markdown;
use crate::process::{command, prepend, shown};

/// Folder of the tutorials.
const TUTORIALS: &str = "docs/tutorials";

/// Begins the comment above a block that is run.
const RUN: &str = "<!-- run";

/// Folder of the images that commands of the tutorials draw.
const IMAGES: &str = "docs/images/tutorials/";

/// Says that the words that a command prints depend on the processor.
const VARIES: &str = "varies";

/// How the output of the commands is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outputs {
    /// Written into the tutorial.
    Write,
    /// Compared with the tutorial, which stays as it is.
    Compare,
}

/// Runs the tutorials, all or those named.
///
/// # Errors
/// Fails if a command fails or prints other words than those it is compared with; the tutorial is then left
/// as it was.
pub fn run(root: &Path, trainer: &Path, only: &[String], outputs: Outputs) -> Result<()> {
    let mut names: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(root.join(TUTORIALS)).context("cannot read the tutorials")? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".md").map(str::to_owned));
    }
    names.sort();
    if let Some(unknown) = only.iter().find(|name| !names.contains(name)) {
        bail!(
            "there is no tutorial `{unknown}`; expected one of {}",
            names.join(", ")
        );
    }
    for name in names {
        if only.is_empty() || only.contains(&name) {
            run_one(root, trainer, &name, outputs).with_context(|| format!("tutorial {name}"))?;
        }
    }
    Ok(())
}

fn run_one(root: &Path, trainer: &Path, name: &str, outputs: Outputs) -> Result<()> {
    let document = format!("{TUTORIALS}/{name}.md");
    let text = std::fs::read_to_string(root.join(&document))?;
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let work = folder.path().join("espalier");
    furnish(root, &work)?;
    let path = prepend(&[trainer.parent().unwrap_or(Path::new(""))])?;
    let answer = |words: &str| {
        let mut shell = command("bash");
        shell.args(["-euo", "pipefail", "-c", words]);
        shell
            .current_dir(&work)
            .env("PATH", &path)
            .env("COLUMNS", "100");
        // Caches of the user would change what is printed.
        shell.env("XDG_CACHE_HOME", folder.path().join("cache"));
        print_of(&mut shell, &work)
    };
    let new = recorded(&text, answer)?;
    let images = drawn(&new, &work)?;
    if outputs == Outputs::Compare {
        check_outputs(&text, &new)?;
        eprintln!("{document}: every command prints what it shows");
        return Ok(());
    }
    std::fs::write(root.join(&document), &new)?;
    eprintln!("wrote {document}");
    for (file, image) in images {
        std::fs::copy(&file, root.join(&image)).with_context(|| format!("cannot write {image}"))?;
        eprintln!("wrote {image}");
    }
    Ok(())
}

/// Makes a folder that looks like the repository after `git clone`.
fn furnish(root: &Path, work: &Path) -> Result<()> {
    std::fs::create_dir(work)?;
    for entry in std::fs::read_dir(root)? {
        let name = entry?.file_name();
        let made = ["target", "logs"].iter().any(|n| name == *n);
        if !made && !name.to_string_lossy().starts_with('.') {
            link(&root.join(&name), &work.join(&name))?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn link(from: &Path, to: &Path) -> Result<()> {
    std::os::unix::fs::symlink(from, to).with_context(|| format!("cannot make {}", to.display()))
}

#[cfg(not(unix))]
fn link(_: &Path, to: &Path) -> Result<()> {
    bail!(
        "cannot make {}: tutorials are recorded on Linux or macOS",
        to.display()
    )
}

/// Returns what a command prints, both streams in their order, without the path of its folder.
fn print_of(command: &mut std::process::Command, work: &Path) -> Result<String> {
    eprintln!("$ {}", shown(command));
    let mut output = tempfile::tempfile()?;
    let status = command
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?)
        .status()?;
    let mut printed = String::new();
    std::io::Seek::rewind(&mut output)?;
    std::io::Read::read_to_string(&mut output, &mut printed)?;
    if !status.success() {
        bail!("`{}` failed ({status}):\n{printed}", shown(command));
    }
    Ok(printed.replace(&format!("{}/", work.display()), ""))
}

/// A block of commands that is run.
#[derive(Debug, PartialEq, Eq)]
struct Block {
    command: String,
    /// Bytes in the document of the output below it; `None` if it shows none.
    output: Option<std::ops::Range<usize>>,
    /// How many lines are shown of the beginning and the end; `None` for all.
    shown: Option<(usize, usize)>,
    /// Whether its words depend on the processor.
    varies: bool,
}

/// Finds the blocks of a tutorial that are run.
fn blocks(text: &str) -> Result<Vec<Block>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(RUN).map(|at| from + at) {
        let rest = &text[at..];
        let number = text[..at].lines().count() + 1;
        let (comment, after) = rest
            .split_once("-->\n```sh\n")
            .filter(|(comment, _)| !comment.contains('\n'))
            .with_context(|| format!("line {number}: expected a block `sh` below `{RUN} -->`"))?;
        let (body, tail) = after
            .split_once("\n```\n")
            .with_context(|| format!("line {number}: the block does not end"))?;
        let end = text.len() - tail.len();
        let output = tail
            .strip_prefix("\n```text\n")
            .and_then(|rest| rest.find("```").map(|length| (rest, length)))
            .map(|(rest, length)| {
                let start = text.len() - rest.len();
                start..start + length
            });
        let shown = comment
            .split_once(':')
            .and_then(|(_, lines)| lines.split_once('…'))
            .map(|(first, last)| -> Result<(usize, usize)> {
                let number = |n: &str| n.trim().parse().context("expected `run: 6 … 8`");
                Ok((number(first)?, number(last)?))
            })
            .transpose()?;
        from = output.as_ref().map_or(end, |output| output.end);
        found.push(Block {
            command: body.to_owned(),
            output,
            shown,
            varies: comment.contains(VARIES),
        });
    }
    Ok(found)
}

/// Returns the tutorial with the outputs that `answer` gives for its commands.
fn recorded(text: &str, answer: impl Fn(&str) -> Result<String>) -> Result<String> {
    let mut new = String::with_capacity(text.len());
    let mut end = 0;
    for block in blocks(text)? {
        let printed = answer(&block.command)?;
        if let Some(output) = block.output {
            new.push_str(&text[end..output.start]);
            new.push_str(&excerpt(&printed, block.shown));
            end = output.end;
        }
    }
    new.push_str(&text[end..]);
    Ok(new)
}

/// Checks that the outputs of two versions of a tutorial have the same words.
fn check_outputs(old: &str, new: &str) -> Result<()> {
    for (old_block, new_block) in blocks(old)?.into_iter().zip(blocks(new)?) {
        let (Some(old_at), Some(new_at)) = (old_block.output, new_block.output) else {
            continue;
        };
        let (expected, found) = (&old[old_at], &new[new_at]);
        if !old_block.varies && words(expected) != words(found) {
            bail!(
                "the command\n{}\nprints other words than the tutorial shows; `cargo xtask docs --record` brings it up to \
                 date\nexpected:\n{expected}\nfound:\n{found}",
                old_block.command
            );
        }
    }
    Ok(())
}

/// Returns the lines of an output without its numbers, times and steps of training.
fn words(output: &str) -> Vec<String> {
    let lines = output.lines().filter(|line| !line.starts_with("step "));
    let without_numbers = |word: &str| {
        let mut masked = word.replace(|c: char| c.is_ascii_digit(), "0");
        for (from, to) in [
            ("00", "0"),
            ("0,0", "0"),
            ("0.0", "0"),
            ("0:0", "0"),
            ("-0", "0"),
        ] {
            while masked.contains(from) {
                masked = masked.replace(from, to);
            }
        }
        masked
    };
    lines
        .map(|line| {
            let words: Vec<String> = line.split_whitespace().map(without_numbers).collect();
            words.join(" ")
        })
        .collect()
}

fn excerpt(printed: &str, shown: Option<(usize, usize)>) -> String {
    let lines: Vec<&str> = printed.lines().map(str::trim_end).collect();
    let all = |lines: &[&str]| {
        lines
            .iter()
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    };
    match shown {
        Some((first, last)) if first + last < lines.len() => {
            let (start, end) = (&lines[..first], &lines[lines.len() - last..]);
            format!("{}…\n{}", all(start), all(end))
        }
        _ => all(&lines),
    }
}

/// Returns the images of a tutorial that its commands drew, each with its path in the repository.
fn drawn(text: &str, work: &Path) -> Result<Vec<(PathBuf, String)>> {
    let document = format!("{TUTORIALS}/x.md");
    let images = markdown::links(text)
        .into_iter()
        .filter(|link| link.is_image && !link.is_external())
        .filter_map(|link| resolve(&document, &link.target))
        .filter(|image| image.starts_with(IMAGES));
    images
        .map(|image| {
            let file = work.join(Path::new(&image).file_name().unwrap_or_default());
            if !file.is_file() {
                bail!("no command writes {}, which is shown", file.display());
            }
            Ok((file, image))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TUTORIAL: &str = "# T\n\n<!-- run -->\n```sh\necho a\n```\n\n```text\nold\nlines\n```\n\n\
        ```sh\nnot run\n```\n\n<!-- run: 1 … 1 -->\n```sh\nseq 9\n```\n\n```text\n```\n\n<!-- run -->\n\
        ```sh\nquiet\n```\nend\n";

    #[test]
    fn outputs_are_replaced_and_all_else_is_kept() {
        let answer = |words: &str| {
            Ok(match words {
                "echo a" => "a\n".to_owned(),
                "seq 9" => (1..=9).map(|n| format!("{n}\n")).collect(),
                other => {
                    assert_eq!(other, "quiet");
                    String::new()
                }
            })
        };
        let new = recorded(TUTORIAL, answer).unwrap();
        let expected = TUTORIAL
            .replace("old\nlines\n", "a\n")
            .replace("```text\n```", "```text\n1\n…\n9\n```");
        assert_eq!(new, expected);
        assert_eq!(recorded(&new, answer).unwrap(), new);
    }

    #[test]
    fn a_check_compares_words_and_not_numbers() {
        let shown = |output: &str| format!("<!-- run -->\n```sh\nx\n```\n\n```text\n{output}```\n");
        let old = shown("done in 5:05, 1,234 images, loss -0.25\nstep 1/9  0:01\n");
        check_outputs(&old, &shown("done in 15:59, 12 images,  loss 1.5\n")).unwrap();
        let other = shown("ended in 5:05, 12 images, loss 1.5\n");
        let error = check_outputs(&old, &other).unwrap_err().to_string();
        assert!(error.contains("ended in"), "{error}");
        let varies = |text: &str| text.replace("run -->", "run, varies -->");
        check_outputs(&varies(&old), &varies(&other)).unwrap();
    }

    #[test]
    fn a_mark_without_a_block_is_named_by_its_line() {
        let error = blocks("a\n<!-- run -->\n\n```sh\nx\n```\n").unwrap_err();
        assert!(error.to_string().contains("line 2"), "{error}");
    }

    #[test]
    fn the_path_of_the_folder_is_not_recorded() {
        let dir = tempfile::tempdir().unwrap();
        let work = dir.path().canonicalize().unwrap();
        let mut shell = command("bash");
        shell
            .args(["-c", "echo to $PWD/logs; echo oops >&2"])
            .current_dir(&work);
        assert_eq!(print_of(&mut shell, &work).unwrap(), "to logs\noops\n");
        let error = print_of(command("bash").args(["-c", "echo bad; exit 3"]), &work);
        assert!(error.unwrap_err().to_string().contains("bad"));
    }
}
