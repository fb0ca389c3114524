//! Which files a folder of results may contain after a fault, and which it must contain after a run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Result;
use xtask::files;

use super::task::Task;

/// Files of a folder and of those below it: paths from the folder, with `/`, and contents.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// Reads all files below a folder.
///
/// # Errors
/// If one cannot be read.
pub(super) fn read(folder: &Path) -> Result<Files> {
    let mut contents = Files::new();
    for path in files::below(folder)? {
        contents.insert(files::name_from(folder, &path), fs::read(&path)?);
    }
    Ok(contents)
}

/// Returns whether a path is a temporary file, or lies in a temporary folder.
fn is_temporary(path: &str) -> bool {
    path.split('/').any(|part| part.ends_with(".tmp"))
}

/// Checks a folder of results after a fault: every file under a final name is that of the unbroken
/// run, whole, and what is said to be complete is.
pub(super) fn after_fault(task: Task, found: &Files, expected: &Files) -> Vec<String> {
    let mut violations = Vec::new();
    let results = found
        .iter()
        .filter(|(path, _)| task.is_result(path) && !task.is_progress(path) && !is_temporary(path));
    for (path, bytes) in results {
        match expected.get(path) {
            Some(known) if known == bytes => {}
            Some(known) => violations.push(format!(
                "{path}: {} bytes under its final name, expected {} or another content",
                bytes.len(),
                known.len()
            )),
            None => violations.push(format!("{path}: the unbroken run has no such file")),
        }
    }
    for mark in task.marks() {
        let folder = mark.trim_end_matches(|c| c != '/');
        if found.keys().any(|path| path.starts_with(mark)) {
            let missing = expected
                .keys()
                .filter(|path| path.starts_with(folder) && !found.contains_key(*path));
            violations.extend(missing.map(|path| format!("{mark} is there without {path}")));
        }
    }
    violations
}

/// Checks a folder of results after a run that ended well: all files of the unbroken run with its
/// bytes, no other, none that is temporary, and every line of a log whole.
pub(super) fn after_success(task: Task, found: &Files, expected: &Files) -> Vec<String> {
    let mut violations = Vec::new();
    for path in found.keys() {
        if is_temporary(path) {
            violations.push(format!("{path}: a temporary file was left"));
        } else if task.is_result(path) && !expected.contains_key(path) {
            violations.push(format!("{path}: the unbroken run has no such file"));
        }
    }
    for (path, known) in expected.iter().filter(|(path, _)| task.is_result(path)) {
        match found.get(path) {
            Some(bytes) if bytes == known => {}
            Some(_) => violations.push(format!(
                "{path}: other bytes than those of the unbroken run"
            )),
            None => violations.push(format!("{path}: missing after a successful run")),
        }
    }
    for (path, bytes) in found.iter().filter(|(path, _)| path.ends_with(".jsonl")) {
        let text = String::from_utf8_lossy(bytes);
        let is_whole = |line: &str| serde_json::from_str::<serde_json::Value>(line).is_ok();
        if let Some(number) = text.lines().position(|line| !is_whole(line)) {
            violations.push(format!("{path}: line {} is not JSON", number + 1));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(of: &[(&str, &str)]) -> Files {
        let owned = of
            .iter()
            .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()));
        owned.collect()
    }

    #[test]
    fn a_half_written_file_an_incomplete_folder_and_a_stranger_are_violations() {
        let whole = files(&[
            ("bundle/manifest.json", "m"),
            ("bundle/a", "long"),
            ("bundle/b", "b"),
        ]);
        let none: [String; 0] = [];
        let partial = files(&[("bundle/a", "long"), ("bundle/b.tmp", "")]);
        assert_eq!(after_fault(Task::Export, &partial, &whole), none);
        let half = files(&[("bundle/a", "lo")]);
        assert!(
            after_fault(Task::Export, &half, &whole)[0].contains("2 bytes under its final name")
        );
        let marked = files(&[("bundle/manifest.json", "m"), ("bundle/a", "long")]);
        assert_eq!(
            after_fault(Task::Export, &marked, &whole),
            ["bundle/manifest.json is there without bundle/b"]
        );
        let strange = files(&[("bundle/c", "x")]);
        assert!(after_fault(Task::Export, &strange, &whole)[0].contains("no such file"));
    }

    #[test]
    fn a_checkpoint_is_complete_and_its_progress_may_lag() {
        let two = "a/checkpoints/checkpoint_00000002/";
        let whole = files(&[
            (&format!("{two}model"), "m"),
            (&format!("{two}optim"), "o"),
            ("a/last_checkpoint.txt", "4"),
            ("a/out.log", "1"),
        ]);
        let found = files(&[
            (&format!("{two}model"), "m"),
            ("a/last_checkpoint.txt", "2"),
        ]);
        assert_eq!(
            after_fault(Task::Fit, &found, &whole),
            [format!("{two} is there without {two}optim")]
        );
    }

    #[test]
    fn after_success_everything_is_there_and_nothing_else() {
        let whole = files(&[("cache/a", "x"), ("cache/b", "y")]);
        assert!(after_success(Task::Eval, &whole, &whole).is_empty());
        let found = files(&[
            ("cache/a", "z"),
            ("cache/c.tmp", ""),
            ("log.jsonl", "{}\n{\"a\":"),
        ]);
        let violations = after_success(Task::Eval, &found, &whole).join("\n");
        for part in [
            "a: other bytes",
            "c.tmp: a temporary file",
            "b: missing",
            "line 2 is not JSON",
        ] {
            assert!(violations.contains(part), "{part}: {violations}");
        }
    }
}
