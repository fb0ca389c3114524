//! Writes measured tables into a document, with the machine and source that they were measured on.

use std::path::Path;

use anyhow::{Context, Result};

use crate::process::{capture, command};

const END: &str = "<!-- to here -->";

/// Returns the marker line that precedes the tables of `cargo xtask NAME --write`.
fn begin(name: &str) -> String {
    format!("<!-- written by `cargo xtask {name} --write` from here -->")
}

/// Returns the processor and number of cores.
pub fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("unknown processor", |(_, name)| name.trim());
    let avx = if cpuinfo.contains("avx512f") {
        ", AVX-512"
    } else {
        ""
    };
    format!("{name}{avx}, {cores} cores")
}

/// Returns the commit, and whether files other than `document` differ from it.
pub fn source(root: &Path, document: &str) -> String {
    let git = |args: &[&str]| capture(command("git").args(args).current_dir(root));
    let Ok(commit) = git(&["rev-parse", "--short", "HEAD"]) else {
        return "no commit".to_owned();
    };
    // Excludes the document itself, which this run will change.
    let others = format!(":!{document}");
    let changed = git(&["status", "--porcelain", "--", ".", &others]);
    let changed = changed.is_ok_and(|list| !list.trim().is_empty());
    format!(
        "commit {}{}",
        commit.trim(),
        if changed { ", with changes" } else { "" }
    )
}

/// Inserts the tables of `cargo xtask NAME` between the two markers of a document.
///
/// # Errors
/// When the document cannot be read or written, or lacks the markers.
pub fn insert(root: &Path, document: &str, name: &str, tables: &str) -> Result<()> {
    let path = root.join(document);
    let old = std::fs::read_to_string(&path).with_context(|| format!("cannot read {document}"))?;
    let begin = begin(name);
    let new = replace_between(&old, &begin, tables)
        .with_context(|| format!("{document} lacks the lines {begin} and {END}"))?;
    std::fs::write(&path, new).with_context(|| format!("cannot write {document}"))?;
    eprintln!("wrote {document}");
    Ok(())
}

fn replace_between(document: &str, begin: &str, tables: &str) -> Option<String> {
    let (before, rest) = document.split_once(begin)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!(
        "{before}{begin}\n\n{}\n\n{END}{after}",
        tables.trim()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_text_between_the_markers_is_replaced() {
        let begin = begin("bench");
        let document = format!("# Bench\n\n{begin}\nold\n{END}\n\nmore\n");
        let new = replace_between(&document, &begin, "new\n").unwrap();
        assert_eq!(new, format!("# Bench\n\n{begin}\n\nnew\n\n{END}\n\nmore\n"));
        assert_eq!(replace_between(&new, &begin, "new").unwrap(), new);
        assert_eq!(replace_between("no marks", &begin, "new"), None);
    }
}
