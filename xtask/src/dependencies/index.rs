//! What the index of crates.io says about a package: its versions and when they were published.

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::process::{capture, command};

/// Address of the index; <https://doc.rust-lang.org/cargo/reference/registry-index.html> describes it.
const INDEX: &str = "https://index.crates.io";

/// A published version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Release {
    /// Its number, without what follows a `+`.
    pub version: String,
    /// Day of publication, or `?` where the index does not say it.
    pub date: String,
    /// Whether its authors withdrew it.
    pub is_yanked: bool,
}

#[derive(Deserialize)]
struct Line {
    vers: String,
    yanked: bool,
    pubtime: Option<String>,
}

/// Fetches all versions of a package.
///
/// # Errors
/// Fails without curl, without a connection, or for a package that the index does not have.
pub(super) fn releases(name: &str) -> Result<Vec<Release>> {
    let address = format!("{INDEX}/{}", path(name));
    let mut curl = command("curl");
    curl.args("--fail --silent --show-error --location --retry 3".split(' '));
    let text = capture(curl.args(["--max-time", "60", &address]))
        .with_context(|| format!("cannot ask the index about {name}"))?;
    let releases = parse(&text).with_context(|| format!("the index's answer about {name}"))?;
    if releases.is_empty() {
        bail!("the index has no version of {name}");
    }
    Ok(releases)
}

/// Returns where the index keeps a package.
fn path(name: &str) -> String {
    let name = name.to_lowercase();
    match name.len() {
        0..=2 => format!("{}/{name}", name.len()),
        3 => format!("3/{}/{name}", &name[..1]),
        _ => format!("{}/{}/{name}", &name[..2], &name[2..4]),
    }
}

fn parse(text: &str) -> Result<Vec<Release>> {
    text.lines()
        .map(|line| {
            let line: Line = serde_json::from_str(line)?;
            let date = line.pubtime.as_deref().and_then(|time| time.get(..10));
            Ok(Release {
                version: line.vers,
                date: date.unwrap_or("?").to_owned(),
                is_yanked: line.yanked,
            })
        })
        .collect()
}

/// Returns the newest version that is neither withdrawn nor a pre-release.
pub(super) fn newest(releases: &[Release]) -> Option<&Release> {
    releases
        .iter()
        .filter(|release| !release.is_yanked && !bare(&release.version).contains('-'))
        .max_by_key(|release| numbers(&release.version))
}

/// Returns whether cargo takes `newer` for `used` without a change of a requirement.
pub(super) fn is_compatible(used: &str, newer: &str) -> bool {
    let (used, newer) = (numbers(used), numbers(newer));
    // The first number that is not zero must be the same.
    let leading = used.iter().take_while(|n| **n == 0).count() + 1;
    used.iter().take(leading).eq(newer.iter().take(leading))
}

/// Returns a version without its build metadata.
fn bare(version: &str) -> &str {
    version.split('+').next().unwrap_or_default()
}

fn numbers(version: &str) -> Vec<u64> {
    let core = bare(version).split('-').next().unwrap_or_default();
    core.split('.').map(|n| n.parse().unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_neither_withdrawn_nor_a_preview() {
        let text = r#"{"vers":"1.9.0","yanked":false,"pubtime":"2026-01-02T03:04:05Z"}
{"vers":"1.10.0+spec-1","yanked":false}
{"vers":"1.11.0","yanked":true,"pubtime":"2026-02-02T03:04:05Z"}
{"vers":"2.0.0-rc.1","yanked":false,"pubtime":"2026-03-02T03:04:05Z"}"#;
        let releases = parse(text).unwrap();
        let newest = newest(&releases).unwrap();
        assert_eq!(
            (newest.version.as_str(), newest.date.as_str()),
            ("1.10.0+spec-1", "?")
        );
        assert_eq!(releases[0].date, "2026-01-02");
    }

    #[test]
    fn packages_are_found_in_folders_of_their_first_letters() {
        for (name, expected) in [
            ("zip", "3/z/zip"),
            ("half", "ha/lf/half"),
            ("md-5", "md/-5/md-5"),
        ] {
            assert_eq!(path(name), expected);
        }
    }

    #[test]
    fn versions_are_compatible_up_to_their_first_number_that_counts() {
        assert!(is_compatible("1.2.3", "1.9.0") && is_compatible("0.3.1", "0.3.9"));
        assert!(!is_compatible("1.2.3", "2.0.0") && !is_compatible("0.3.1", "0.4.0"));
        assert!(!is_compatible("0.0.3", "0.0.4"));
    }
}
