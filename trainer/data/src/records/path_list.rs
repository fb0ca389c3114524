//! Spells out paths that stand for several: `shards/{00000..01023}.tar`, `{train,more}.tar`, and
//! `@list.txt`, as users of WebDataset and open_clip write them. Addresses in object storage are spelled
//! out in the same way.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use espalier_io::disk::read;
use espalier_io::storage::{self, ShardFile, ShardReader};

use crate::records::error::{DataError, Result};

/// Most paths that one pattern may stand for. GRIT has some thousands of shards; a million is a slip
/// of the pen.
const MAX_PATHS: usize = 1_000_000;
/// Most bytes of a list in object storage.
const MAX_LIST: u64 = 256 << 20;

/// Most digits of a number in a range, zeros in front included. Formatting panics above 65,535.
const MAX_DIGITS: usize = 20;

/// Returns the paths that `path` stands for: the lines of a list, the expanded braces, or itself.
///
/// Lines of a list are relative to its folder; empty lines and lines with `#` in front are comments. A
/// file that exists under the name as it is written is that file.
///
/// # Errors
/// If a list cannot be read or is empty, braces cannot be expanded, or an address may hold a secret.
pub(super) fn spell_out(path: &Path) -> Result<Vec<PathBuf>> {
    if let Some(local) = storage::local_file(path) {
        return spell_out(&local);
    }
    check_address(path)?;
    let Some(text) = path.to_str().filter(|_| !path.exists()) else {
        return Ok(vec![path.to_owned()]);
    };
    match text.strip_prefix('@') {
        Some(list) => lines(Path::new(list)),
        None => expanded(text),
    }
}

/// Checks an address before it can become part of a message.
fn check_address(path: &Path) -> Result<()> {
    storage::check(path).map_err(|reason| DataError::Address(reason.to_string()))
}

/// Reads a list, which may be in object storage too.
fn read_list(list: &Path) -> io::Result<String> {
    if !storage::is_remote(list) {
        return read::text(list);
    }
    let mut text = String::new();
    let reader = ShardReader::new(ShardFile::open(list)?, 0);
    reader.take(MAX_LIST).read_to_string(&mut text)?;
    Ok(text)
}

fn lines(list: &Path) -> Result<Vec<PathBuf>> {
    let list = &storage::local_file(list).unwrap_or_else(|| list.to_owned());
    check_address(list)?;
    let text = read_list(list).map_err(DataError::io(list))?;
    let lines = text.lines().map(str::trim);
    let named = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let folder = list.parent().unwrap_or(Path::new(""));
    let mut paths = Vec::new();
    for line in named {
        if storage::is_remote(Path::new(line)) || storage::local_file(Path::new(line)).is_some() {
            paths.extend(spell_out(Path::new(line))?);
            continue;
        }
        let mut path = folder.join(line);
        // Written on Windows.
        let with_slashes = folder.join(line.replace('\\', "/"));
        if !path.exists() && with_slashes.exists() {
            path = with_slashes;
        }
        match path.to_str().filter(|_| !path.exists()) {
            Some(text) => paths.extend(expanded(text)?),
            None => paths.push(path),
        }
    }
    if paths.is_empty() {
        return Err(DataError::NothingFound {
            place: list.display().to_string(),
            found: "no line with a path".into(),
        });
    }
    Ok(paths)
}

/// Expands the braces of a path; the last ones vary fastest.
fn expanded(text: &str) -> Result<Vec<PathBuf>> {
    let fail = |reason: String| DataError::Pattern {
        pattern: text.to_owned(),
        reason,
    };
    let mut paths = vec![String::new()];
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (inside, after) = after
            .split_once('}')
            .ok_or_else(|| fail("expected a `}` after each `{`, found none".into()))?;
        let choices = choices(inside).map_err(fail)?;
        if choices.len() > MAX_PATHS / paths.len() {
            return Err(fail(format!("expected at most {MAX_PATHS} paths")));
        }
        let longer = paths.iter().flat_map(|path| {
            let choices = choices.iter();
            choices.map(move |choice| format!("{path}{before}{choice}"))
        });
        paths = longer.collect();
        rest = after;
    }
    Ok(paths
        .into_iter()
        .map(|path| PathBuf::from(path + rest))
        .collect())
}

/// Returns what braces stand for: the numbers of `00..12`, as long as the first one is written, or the
/// words of `a,b`.
fn choices(inside: &str) -> std::result::Result<Vec<String>, String> {
    let Some((first, last)) = inside.split_once("..") else {
        return Ok(inside.split(',').map(str::to_owned).collect());
    };
    let number = |text: &str| -> std::result::Result<usize, String> {
        let is_number =
            (1..=MAX_DIGITS).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        let number = text.parse().ok().filter(|_| is_number);
        number.ok_or_else(|| format!("expected numbers as in {{00000..01023}}, found `{inside}`"))
    };
    let (from, to) = (number(first)?, number(last)?);
    if to < from {
        return Err(format!("expected a range that grows, found `{inside}`"));
    }
    if to - from >= MAX_PATHS {
        return Err(format!("expected at most {MAX_PATHS} paths"));
    }
    let width = first.len();
    Ok((from..=to).map(|n| format!("{n:0width$}")).collect())
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::test_files::{folder, write};

    fn shown(text: &str) -> Vec<String> {
        let paths = spell_out(Path::new(text)).unwrap().into_iter();
        paths.map(|path| path.display().to_string()).collect()
    }

    /// Returns a folder with a list, and the path that stands for its lines.
    fn list_of(lines: &str) -> (TempDir, PathBuf) {
        let dir = folder(&[("list.txt", lines)]);
        let list = format!("@{}", dir.path().join("list.txt").display());
        (dir, PathBuf::from(list))
    }

    #[test]
    fn numbers_keep_their_zeros_and_the_last_braces_vary_fastest() {
        assert_eq!(
            shown("s/{08..10}.tar"),
            ["s/08.tar", "s/09.tar", "s/10.tar"]
        );
        assert_eq!(shown("{9..10}"), ["9", "10"]);
        let both = ["a/0.tar", "a/1.tar", "b/0.tar", "b/1.tar"];
        assert_eq!(shown("{a,b}/{0..1}.tar"), both);
        assert_eq!(shown("s/*.tar"), ["s/*.tar"]);
    }

    #[test]
    fn a_list_names_paths_relative_to_its_folder() {
        let (dir, list) = list_of("# shards\n\n{0..1}.tar\n/data/x.tar\n");
        let at = |name: &str| dir.path().join(name);
        let expected = [at("0.tar"), at("1.tar"), PathBuf::from("/data/x.tar")];
        assert_eq!(spell_out(&list).unwrap(), expected);
    }

    #[test]
    fn a_list_that_was_written_on_windows_is_read() {
        let (dir, list) = list_of("\u{feff}s\\0.tar\r\ns/0.tar\r\n");
        write(dir.path(), &[("s/0.tar", "x")]);
        let expected = vec![dir.path().join("s/0.tar"); 2];
        assert_eq!(spell_out(&list).unwrap(), expected);
    }

    #[test]
    fn addresses_are_spelled_out_and_a_list_may_mix_them_with_paths() {
        assert_eq!(
            shown("s3://bucket/{00..01}.parquet"),
            ["s3://bucket/00.parquet", "s3://bucket/01.parquet"]
        );
        assert_eq!(
            shown("file:///data/{a,b}.tar"),
            ["/data/a.tar", "/data/b.tar"]
        );
        let (dir, list) = list_of("gs://b/{0..1}.tar\nhere.tar\nfile:///x.tar\n");
        let here = dir.path().join("here.tar");
        let expected = [
            "gs://b/0.tar",
            "gs://b/1.tar",
            here.to_str().unwrap(),
            "/x.tar",
        ];
        assert_eq!(spell_out(&list).unwrap(), expected.map(PathBuf::from));
        let (_dir, list) = list_of("https://user:hunter2@host/{0..x}.tar\n");
        let error = spell_out(&list).unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
        assert_eq!(error.exit_code(), 2);
    }

    #[test]
    fn a_file_whose_name_has_braces_is_that_file() {
        let dir = folder(&[("{a,b}.tar", "x")]);
        let file = dir.path().join("{a,b}.tar");
        assert_eq!(spell_out(&file).unwrap(), [file]);
    }

    #[test]
    fn what_cannot_be_expanded_is_told_with_what_was_expected() {
        let wide = format!("s/{{{}..1}}.tar", "0".repeat(70_000));
        let (_dir, empty) = list_of("# nothing\n");
        for (path, expected) in [
            ("s/{0..", "expected a `}`"),
            (
                "s/{0..x}.tar",
                "expected numbers as in {00000..01023}, found `0..x`",
            ),
            (wide.as_str(), "expected numbers as in {00000..01023}"),
            ("{5..1}.tar", "a range that grows"),
            ("{0..9999999}.tar", "at most 1000000 paths"),
            ("{0..9999}{0..9999}.tar", "at most 1000000 paths"),
            ("@gone.txt", "gone.txt"),
            (empty.to_str().unwrap(), "no line with a path"),
        ] {
            let message = spell_out(Path::new(path)).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
