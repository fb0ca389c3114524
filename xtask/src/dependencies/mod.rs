//! `cargo xtask dependencies`: every direct dependency with its reason, its age and its state.
//!
//! Versions come from `Cargo.lock`, dates and newest versions from the registry's index, reasons from
//! `docs/dependencies.toml`.

mod index;
mod lock;
mod reasons;

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Result, bail};
use clap::Args;

use crate::document;
use index::Release;
use lock::Direct;
use reasons::Reason;

/// The document with the table.
const DOCUMENT: &str = "docs/dependencies.md";

/// What to do with the table.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Write the table into docs/dependencies.md
    #[arg(long)]
    pub write: bool,
    /// Only compare names, versions and reasons with the document, without the network
    #[arg(long, conflicts_with = "write")]
    pub check: bool,
}

/// Prints the table, writes it, or compares it with the document.
///
/// # Errors
/// Fails if a dependency has no reason, a reason has no dependency, the registry cannot be asked, or,
/// with `check`, the document is out of date.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let faults = faults(root)?;
    if options.check || faults.iter().any(|fault| fault.contains(reasons::FILE)) {
        if !faults.is_empty() {
            bail!("{}", faults.join("\n"));
        }
        println!("{DOCUMENT} has every direct dependency");
        return Ok(());
    }
    let reasons = reasons::read(root)?;
    let mut rows = String::new();
    for direct in lock::direct(root)? {
        let releases = index::releases(&direct.name)?;
        rows += &row(&direct, &reasons[&direct.name], &releases)?;
    }
    let table = format!("{HEAD}{rows}");
    if options.write {
        return document::insert(root, DOCUMENT, "dependencies", &table);
    }
    println!("{table}");
    Ok(())
}

const HEAD: &str =
    "| package | used by | version | newest | state | why |\n|---|---|---|---|---|---|\n";

/// Returns a row of the table.
fn row(direct: &Direct, reason: &Reason, releases: &[Release]) -> Result<String> {
    let Some(used) = releases.iter().find(|r| r.version == direct.version) else {
        bail!("the registry has no {} {}", direct.name, direct.version);
    };
    let newest = index::newest(releases).unwrap_or(used);
    let state = match &reason.held {
        _ if used.version == newest.version => "newest".to_owned(),
        Some(held) => format!("held: {held}"),
        None if index::is_compatible(&used.version, &newest.version) => {
            "`cargo update` brings it up".to_owned()
        }
        None => "behind".to_owned(),
    };
    let state = if used.is_yanked {
        format!("withdrawn; {state}")
    } else {
        state
    };
    let dated = |release: &Release| format!("{} ({})", release.version, release.date);
    let name = &direct.name;
    let mut row = String::new();
    writeln!(
        row,
        "| [{name}](https://crates.io/crates/{name}) | {} | {} | {} | {state} | {} |",
        direct.users.join(", "),
        dated(used),
        dated(newest),
        reason.why,
    )?;
    Ok(row)
}

/// Returns what the repository alone shows to be wrong: a dependency without reason, a reason without
/// dependency, a row that is missing in the document or has another version.
fn faults(root: &Path) -> Result<Vec<String>> {
    let reasons = reasons::read(root)?;
    let direct = lock::direct(root)?;
    let document = std::fs::read_to_string(root.join(DOCUMENT)).unwrap_or_default();
    let mut faults = Vec::new();
    for used in &direct {
        if !reasons.contains_key(&used.name) {
            faults.push(format!(
                "{} lacks a reason for `{}`",
                reasons::FILE,
                used.name
            ));
        }
        let start = format!("| [{}](", used.name);
        let row = document.lines().find(|line| line.starts_with(&start));
        let version = format!("| {} (", used.version);
        if !row.is_some_and(|row| row.contains(&version)) {
            faults.push(format!(
                "{DOCUMENT} lacks {} {}: run `cargo xtask dependencies --write`",
                used.name, used.version
            ));
        }
    }
    let unused = reasons
        .keys()
        .filter(|name| direct.iter().all(|used| used.name != **name));
    faults.extend(unused.map(|name| format!("{}: nothing uses `{name}`", reasons::FILE)));
    Ok(faults)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths;

    #[test]
    fn every_direct_dependency_has_a_reason_and_a_row() {
        let root = paths::root().unwrap();
        assert!(lock::direct(&root).unwrap().len() > 50);
        let faults = faults(&root).unwrap();
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }

    #[test]
    fn a_dependency_without_reason_and_a_reason_without_dependency_are_found() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("docs")).unwrap();
        let lock = "[[package]]\nname = \"ours\"\nversion = \"0.1.0\"\ndependencies = [\"a\", \"b\"]\n\
                    [[package]]\nname = \"a\"\nversion = \"1.2.0\"\nsource = \"r\"\n\
                    [[package]]\nname = \"b\"\nversion = \"2.0.0\"\nsource = \"r\"\n";
        std::fs::write(dir.path().join("Cargo.lock"), lock).unwrap();
        let reasons = "[b]\nwhy = \"x\"\n[c]\nwhy = \"y\"\n";
        std::fs::write(dir.path().join(reasons::FILE), reasons).unwrap();
        let rows =
            "| [a](u) | ours | 1.2.0 (2026-01-01) |\n| [b](u) | ours | 1.0.0 (2026-01-01) |\n";
        std::fs::write(dir.path().join(DOCUMENT), rows).unwrap();
        assert_eq!(
            faults(dir.path()).unwrap(),
            [
                "docs/dependencies.toml lacks a reason for `a`",
                "docs/dependencies.md lacks b 2.0.0: run `cargo xtask dependencies --write`",
                "docs/dependencies.toml: nothing uses `c`",
            ]
        );
    }

    #[test]
    fn a_row_says_whether_a_newer_version_is_held_back() {
        let release = |version: &str, date: &str| Release {
            version: version.to_owned(),
            date: date.to_owned(),
            is_yanked: false,
        };
        let direct = Direct {
            name: "a".to_owned(),
            version: "0.8.9".to_owned(),
            users: vec!["core".to_owned(), "web".to_owned()],
        };
        let releases = [
            release("0.8.9", "2025-01-02"),
            release("0.9.1", "2026-03-04"),
        ];
        let reason = |held: Option<&str>| Reason {
            why: "inflates".to_owned(),
            held: held.map(str::to_owned),
        };
        assert_eq!(
            row(&direct, &reason(Some("png has it")), &releases).unwrap(),
            "| [a](https://crates.io/crates/a) | core, web | 0.8.9 (2025-01-02) | 0.9.1 (2026-03-04) \
             | held: png has it | inflates |\n"
        );
        let behind = row(&direct, &reason(None), &releases).unwrap();
        assert!(behind.contains("| behind |"), "{behind}");
        let current = row(&direct, &reason(Some("x")), &releases[..1]).unwrap();
        assert!(current.contains("| newest |"), "{current}");
    }
}
